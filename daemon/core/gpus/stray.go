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

// A process that belonged to a job continues to belong to it outside the job's unit. A process can
// leave the unit: if a user asks for that, systemd moves the user's process into the user's own
// manager. Or a process is started for the same user outside the unit, by ssh or cron. Outside the
// unit, the unit's filter and limits do not apply to a process, and the process does not end with
// the unit. Such a process is a stray: its memory counts as the job's, the driver's errors about it
// hit the job, and the GPU is not clean while the process is on it.

// process identifies a process, even if another process later has the same pid.
type process struct {
	pid   int
	start uint64
}

// maxMembers is the largest number of remembered processes that are not on a GPU now.
const maxMembers = 1 << 14

// membership says to which job a process belongs, and how certain that is.
type membership struct {
	job    job.ID
	person int  // the person to whom the process belonged at that time; 0: it does not matter
	unsure bool // it may be another job's, or older than the job: it blocks the GPU, but is not killed
	byTime bool // it began while the job surely ran, but no sample showed it in the job's unit
}

// remember remembers to which job a process belongs.
func (b *Book) remember(p *gpu.Process, m membership) {
	switch key := (process{p.PID, p.Start}); {
	case p.Start == 0:
	case m.job == 0:
		delete(b.members, key)
	default:
		b.members[key] = m
	}
}

// stray returns the job of a process that is in no job's unit. A dead process belongs to the job to
// which it belonged in the last sample before.
func (b *Book) stray(d *device, p *gpu.Process, before job.ID, began tracked.Interval) (job.ID, bool) {
	id := job.ID(0)
	switch {
	case p.Dead:
		id = before
	case p.Start != 0:
		of := b.members[process{p.PID, p.Start}]
		another := of.person != 0 && of.person != b.personOf(p).UID
		if of.job == 0 || another || of.unsure && b.remembersJob(d, of.job) {
			of = b.jobOfStray(d, p, began, of.job)
			b.remember(p, of)
		}
		id = of.job
	}
	if id != 0 && b.policy.Strays == site.TellStrays && !p.Dead && !b.jobs.Holds(id, d.UUID) {
		if dep := d.cleanup; dep != nil && dep.job == id && dep.firstNoted(p.PID) {
			b.addLeftover(dep, job.Say("detail/stray", p.PID, d.Index))
		}
		return 0, false
	}
	return id, id != 0
}

// markUnsure marks some processes of a job as unsure: those that belong to the job only because
// they began while the job was thought to run. The job may have ended earlier than was known.
func (b *Book) markUnsure(id job.ID) {
	for p, of := range b.members {
		if of.job == id && of.byTime {
			of.unsure = true
			b.members[p] = of
		}
	}
}

// firstNoted reports whether this is the first call for the process.
func (dep *cleanup) firstNoted(pid int) bool {
	if slices.Contains(dep.noted, pid) {
		return false
	}
	dep.noted = append(dep.noted, pid)
	return true
}

// personOf returns the person to whom a process belongs, even if the process runs with a uid of a
// container.
func (b *inventory) personOf(p *gpu.Process) Person {
	if person, ok := b.persons[p.UID]; ok {
		return person
	}
	return Person{UID: p.UID}
}

// jobOfStray returns the job to which a stray process belongs; its field job is 0 if there is none.
// It must be a job of the process's person, and the process must have begun during that job.
// Moreover, the job must have the GPU, or have left it since the GPU was last clean. A job runs
// until its unit says that it has ended, even if the daemon learns that later.
//
// The result is unsure if nobody knows when the job began, whose process it is, or whether the
// process began before the job ended. A process may have belonged to a job before. If it surely
// began before that job ended, it still belongs to the job, and is unsure only if another job of
// the user ran at that time.
//
// A program that only draws belongs to a user's desktop, and root's processes belong to the
// machine.
func (b *inventory) jobOfStray(d *device, p *gpu.Process, began tracked.Interval, before job.ID) membership {
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
		// sure only until the job's end, see markUnsure
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

// If too many processes are remembered, forgetMembers forgets those that are on no GPU. It does not
// do so earlier, since a sample can miss a process that exists. No other process ever has the same
// pid and start.
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

// maxStrays is the largest number of strays that are recorded for one GPU. There can't be many:
// each takes hundreds of MiB of GPU memory for its context alone.
const maxStrays = 256

// NoteStrays records the strays on the GPUs if they have changed. Without the record, a restart
// would lose them: only a daemon that saw a process in a job's unit knows the process's job.
func (b *Book) NoteStrays() {
	for _, d := range b.devices {
		if !d.present || d.Health != gpu.HealthOK || d.ProcessesUnknown {
			continue
		}
		g := b.controls[d.UUID]
		if g.Fault.Boot != b.boot() {
			g.Fault.Strays = nil
		}
		if list := listStrays(&b.inventory, d); !slices.Equal(list, g.Fault.Strays) {
			b.faultOfThisBoot(&g, d)
			g.Fault.Strays = list
			b.recordControl(g)
		}
	}
}

// listStrays returns the strays in the last sample.
func listStrays(b *inventory, d *device) (list []job.Stray) {
	for i := range d.Processes {
		if p := &d.Processes[i]; d.strays[p.PID] && len(list) < maxStrays {
			of := b.members[process{p.PID, p.Start}]
			list = append(list, job.Stray{Job: d.jobs[p.PID], PID: p.PID, Start: p.Start, Unsure: of.unsure || of.byTime})
		}
	}
	slices.SortFunc(list, func(a, b job.Stray) int { return a.PID - b.PID })
	return list
}

// Restore adds the record of a GPU, including the strays and the strangers on it.
func (b *Book) Restore(g job.GPUControl) {
	b.controls[g.UUID] = g
	if g.Fault.Boot != b.boot() {
		return // after a reboot, other processes have these pids
	}
	for _, s := range g.Fault.Strays {
		b.members[process{s.PID, s.Start}] = membership{job: s.Job, unsure: s.Unsure}
	}
	b.restoreStrangers(g.Fault.Strangers)
}

// strayGrace is the time from SIGTERM to SIGKILL for a stray.
const strayGrace = 2 * time.Second

// If the policy is EndStrays, endStrays acts on processes that use a GPU which their job does not
// hold. A process outside the job's unit gets SIGTERM, and SIGKILL after strayGrace. If the process
// is in the unit, somebody gave the job an open device: the whole job is stopped after the policy's
// CleaningTimeout. A parked job then gets its GPUs back if it has always used this one, and at once if
// the process is not one that was parked.
func (b *Book) endStrays(d *device, e *Sample, now time.Time) {
	dep, signal := d.cleanup, job.SIGTERM
	long := now.Sub(dep.since) > b.policy.CleaningTimeout
	for i := range d.Processes {
		p := &d.Processes[i]
		if id := d.jobs[p.PID]; b.jobs.Keeps(id, d.UUID) {
			if missed := isMissed(b.jobs.Active(id), p); missed || long {
				b.addFinding(UnparkFound{id, p.PID, d.Index, missed})
			}
		}
	}
	if b.policy.Strays != site.EndStrays {
		return
	}
	if now.Sub(dep.since) >= strayGrace {
		signal = job.SIGKILL
	}
	var pids []string
	for i := range d.Processes {
		p := &d.Processes[i]
		id := d.jobs[p.PID]
		if id == 0 || p.Dead || b.jobs.Holds(id, d.UUID) || b.jobs.Keeps(id, d.UUID) ||
			b.members[process{p.PID, p.Start}].unsure {
			continue
		}
		if !d.strays[p.PID] {
			l := b.jobs.Active(id) // the process may be one of an earlier attempt that the driver still lists
			if long && l != nil && p.Age != 0 && !e.beginSpan(p, now).From.Add(quickLook).Before(l.Beginning()) {
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
		b.addLeftover(dep, job.Say("detail/strays-ended", strings.Join(pids, ", "), d.Index))
	}
}

// strayOf says whether a process is a stray of the job that left the GPU; if not, the job of the
// result is 0. The result is unsure if the process may have begun before the job, or after the
// job's end.
func (dep *cleanup) strayOf(uid int, began tracked.Interval) membership {
	switch {
	case dep.attempt == 0 || dep.uid != uid || began.From.After(dep.ended.To):
		return membership{}
	case !dep.unsure && began.To.Before(dep.began):
		return membership{}
	}
	older, newer := began.From.Before(dep.began), began.To.After(dep.ended.From)
	return membership{job: dep.job, unsure: dep.unsure || older || newer}
}

// holderOf returns a user's job that has the GPU and during which a process began. If there is
// none, it returns nil. It also reports whether the job is known to have run at that time. A job
// has no process before the daemon asks for its unit.
func (b *inventory) holderOf(uuid string, uid int, began tracked.Interval) (last *tracked.Job, sure bool) {
	for l := range b.jobs.Live() {
		if l.Unasked || l.Person().UID != uid || !b.jobs.Holds(l.ID, uuid) || began.From.Before(l.Beginning()) {
			continue
		}
		known := !began.To.After(l.Lifetime().Known())
		switch {
		case l.Lifetime().Spent && began.From.After(l.Lifetime().Ended): // the job had ended before the process began
		case last == nil, known && !sure, known == sure && l.Beginning().After(last.Beginning()):
			last, sure = l, known
		}
	}
	return last, sure
}

// remembersJob reports whether a job has the GPU, or has left it since the GPU was last clean. Only
// then is it known when the job ran.
func (b *inventory) remembersJob(d *device, id job.ID) bool {
	for dep := d.cleanup; dep != nil; dep = dep.earlier {
		if dep.job == id && dep.attempt != 0 {
			return true
		}
	}
	return b.jobs.Holds(id, d.UUID)
}
