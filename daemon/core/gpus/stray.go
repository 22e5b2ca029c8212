package gpus

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// Whoever was of a job stays of it. A process can leave the unit of its job (a
// user manager takes it over, which systemd lets every user ask for) or be begun
// outside of it for its user (ssh, cron): the unit's filter, limits and end do not
// reach it there. It is a stray: its memory counts to the job, what the driver
// reports of it hits the job, and the GPU is not clean while it is there.

// process is one process over its life.
type process struct {
	pid   int
	start uint64
}

// maxMembers bounds the processes that are remembered, beyond those that are on
// GPUs now.
const maxMembers = 1 << 14

// membership is of which job a process is.
type membership struct {
	job    job.ID
	person int  // of whom it was then said to be; 0: that does not matter
	unsure bool // it may be older than the job, or another's: it keeps the GPU back, and is not ended
	byTime bool // it began while the job is known to have run, and was never seen in its unit
}

// join notes of which job a process in a job's unit is.
func (b *Book) join(p *gpu.Process, id job.ID) { b.note(p, membership{job: id}) }

func (b *Book) note(p *gpu.Process, of membership) {
	switch key := (process{p.PID, p.Start}); {
	case p.Start == 0:
	case of.job == 0:
		delete(b.members, key)
	default:
		b.members[key] = of
	}
}

// stray finds the job of a process that is in no job's unit. What is dead stays
// of the job that it was of when it was last seen on the GPU.
func (b *Book) stray(d *device, p *gpu.Process, before job.ID, began tracked.Span) (job.ID, bool) {
	id := job.ID(0)
	switch {
	case p.Dead:
		id = before
	case p.Start != 0:
		of := b.members[process{p.PID, p.Start}]
		another := of.person != 0 && of.person != b.personOf(p).UID
		if of.job == 0 || another || of.unsure && b.remembers(d, of.job) {
			of = b.jobOfStray(d, p, began, of.job)
			b.note(p, of)
		}
		id = of.job
	}
	if id != 0 && b.policy.Strays == site.TellStrays && !p.Dead && !b.jobs.Holds(id, d.UUID) {
		if dep := d.cleanup; dep != nil && dep.job == id && dep.firstNoted(p.PID) {
			b.leftBehind(dep, job.Say("detail/stray", p.PID, d.Index))
		}
		return 0, false
	}
	return id, id != 0
}

// doubt makes it open again whether processes are a job's that were counted as such only because they began while it
// ran: it may have ended earlier than was known.
func (b *Book) doubt(id job.ID) {
	for p, of := range b.members {
		if of.job == id && of.byTime {
			of.unsure = true
			b.members[p] = of
		}
	}
}

// firstNoted reports whether this is the first time that it is asked for a process.
func (dep *cleanup) firstNoted(pid int) bool {
	if slices.Contains(dep.noted, pid) {
		return false
	}
	dep.noted = append(dep.noted, pid)
	return true
}

// personOf returns whose a process is, also where it runs as a uid of a container.
func (b *inventory) personOf(p *gpu.Process) Person {
	if person, ok := b.persons[p.UID]; ok {
		return person
	}
	return Person{UID: p.UID}
}

// jobOfStray is the job of the process's person that has the GPU, or left it since it was
// clean, and during which the process began; 0: none. A job runs until its unit says that
// it has ended, whenever that is learned. Where it is not known whether the process began
// before that, when a job that has left began, or whose process it is, it counts as of the
// job, unsurely. A program that only draws is a user's desktop, and what root runs is the machine's.
// What counted as a job's before stays of it where it surely began before that ended, unsurely where
// another job of the user ran then, too.
func (b *inventory) jobOfStray(d *device, p *gpu.Process, began tracked.Span, before job.ID) membership {
	if p.UID <= 0 || p.Age == 0 || p.Kind == gpu.KindGraphics {
		return membership{}
	}
	person := b.personOf(p)
	last, sure := b.holderOf(d.UUID, person.UID, began)
	for dep := d.cleanup; dep != nil && before != 0; dep = dep.earlier {
		if of := dep.strayOf(person.UID, began); of.job == before && !of.unsure {
			of.person, of.unsure = person.UID, last != nil || person.Unsure
			return of
		}
	}
	if sure {
		// Until its end, see doubt.
		return membership{job: last.ID, person: person.UID, unsure: person.Unsure, byTime: true}
	}
	for dep := d.cleanup; dep != nil; dep = dep.earlier {
		if of := dep.strayOf(person.UID, began); of.job != 0 {
			of.person, of.unsure = person.UID, of.unsure || last != nil || person.Unsure
			return of
		}
	}
	if last != nil {
		return membership{job: last.ID, person: person.UID, unsure: true}
	}
	return membership{}
}

// forgetMembers forgets, where there are too many, the processes that are on no
// GPU. It does so no sooner: a sample can leave out a process that is there, and
// no other ever has its pid and start.
func (b *Book) forgetMembers() {
	if len(b.members) <= maxMembers {
		return
	}
	on := map[process]bool{}
	for _, d := range b.devices {
		for _, p := range d.Processes {
			on[process{p.PID, p.Start}] = true
		}
	}
	for p := range b.members {
		if !on[p] {
			delete(b.members, p)
		}
	}
}

// maxStrays is how many strays are written down of each GPU. Each has hundreds of
// MiB of its memory, by its context alone.
const maxStrays = 256

// NoteStrays writes down which strays are on the GPUs, where that is news: only who
// saw a process in its unit knows of which job it is.
func (b *Book) NoteStrays() {
	for _, d := range b.devices {
		if !d.present || d.Health != gpu.HealthOK || d.ProcessesUnknown {
			continue
		}
		g := b.controls[d.UUID]
		if g.Fault.Boot != b.boot() {
			g.Fault.Strays = nil
		}
		if list := b.listStrays(d); !slices.Equal(list, g.Fault.Strays) {
			b.faultOfThisBoot(&g, d)
			g.Fault.Strays = list
			b.control(g)
		}
	}
}

// listStrays returns the strays that the last sample shows.
func (b *inventory) listStrays(d *device) (list []job.Stray) {
	for i := range d.Processes {
		if p := &d.Processes[i]; d.strays[p.PID] && len(list) < maxStrays {
			of := b.members[process{p.PID, p.Start}]
			list = append(list, job.Stray{Job: d.jobs[p.PID], PID: p.PID, Start: p.Start, Unsure: of.unsure || of.byTime})
		}
	}
	slices.SortFunc(list, func(a, b job.Stray) int { return a.PID - b.PID })
	return list
}

// Restore adds what is on record of a GPU, and of the strays on it.
func (b *Book) Restore(g job.GPUControl) {
	b.controls[g.UUID] = g
	if g.Fault.Boot != b.boot() {
		return // what has these pids now is another process
	}
	for _, s := range g.Fault.Strays {
		b.members[process{s.PID, s.Start}] = membership{job: s.Job, unsure: s.Unsure}
	}
}

// strayGrace is how long a stray has between SIGTERM and SIGKILL.
const strayGrace = 2 * time.Second

// endStrays ends, where the site wants that, what runs on a GPU of a job that
// does not have it: at once what is outside of its job's unit, and after a while
// the running job in whose unit it is, which was given an open device.
func (b *Book) endStrays(d *device, e *Sample, now time.Time) {
	if b.policy.Strays != site.EndStrays {
		return
	}
	dep, signal := d.cleanup, job.SIGTERM
	if now.Sub(dep.since) >= strayGrace {
		signal = job.SIGKILL
	}
	var pids []string
	for i := range d.Processes {
		p := &d.Processes[i]
		id := d.jobs[p.PID]
		if id == 0 || p.Dead || b.jobs.Holds(id, d.UUID) || b.members[process{p.PID, p.Start}].unsure {
			continue
		}
		if !d.strays[p.PID] {
			l := b.jobs.Active(id) // unless the driver still lists it from an earlier attempt
			long := now.Sub(dep.since) > b.policy.CleaningTimeout
			if long && l != nil && p.Age != 0 && !e.began(p, now).From.Add(quickLook).Before(l.Beginning()) {
				b.addFinding(StopFound{Job: id, Cause: job.StopTrespass, Breach: &job.Breach{GPU: d.Index}})
			}
			continue
		}
		b.addFinding(StrayEnd{Stray: job.Stray{Job: id, PID: p.PID, Start: p.Start}, UID: p.UID, Signal: signal})
		if !dep.firstNoted(p.PID) {
			continue
		}
		if l := b.jobs.Active(id); l != nil {
			b.addFinding(NoticeFound{l, job.Say("notice/stray-ended", p.PID, d.Index)})
		} else if id == dep.job {
			pids = append(pids, strconv.Itoa(p.PID))
		}
	}
	if len(pids) > 0 {
		b.leftBehind(dep, job.Say("detail/strays-ended", strings.Join(pids, ", "), d.Index))
	}
}

// strayOf says whether a process is a stray of the job that left the GPU; no job: it is not.
// One that may have begun before the job or after its end counts as one, unsurely, until another look.
func (dep *cleanup) strayOf(uid int, began tracked.Span) membership {
	switch {
	case dep.attempt == 0 || dep.uid != uid || began.From.After(dep.ended.To):
		return membership{}
	case !dep.unsure && began.To.Before(dep.began):
		return membership{}
	}
	older, newer := began.From.Before(dep.began), began.To.After(dep.ended.From)
	return membership{job: dep.job, unsure: dep.unsure || older || newer}
}

// holderOf is the job of a user that has the GPU and during which a process began, and
// whether it is known to have run then; nil: there is none. A job has no process before its unit was asked for.
func (b *inventory) holderOf(uuid string, uid int, began tracked.Span) (last *tracked.Job, sure bool) {
	for l := range b.jobs.Live() {
		if l.Unasked || l.Person().UID != uid || !b.jobs.Holds(l.ID, uuid) || began.From.Before(l.Beginning()) {
			continue
		}
		known := !began.To.After(l.Lifetime().Known())
		switch {
		case l.Lifetime().Spent && began.From.After(l.Lifetime().Ended): // it had ended before
		case last == nil, known && !sure, known == sure && l.Beginning().After(last.Beginning()):
			last, sure = l, known
		}
	}
	return last, sure
}

// remembers reports whether it is known when a job ran that has the GPU, or has left it
// since it was clean.
func (b *inventory) remembers(d *device, id job.ID) bool {
	for dep := d.cleanup; dep != nil; dep = dep.earlier {
		if dep.job == id && dep.attempt != 0 {
			return true
		}
	}
	return b.jobs.Holds(id, d.UUID)
}
