package gpus

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// A stranger is a foreign process that computes on a GPU while running jobs of other users have the
// GPU. Depending on the policy, the stranger's user is told once, and the process may later be
// ended. Processes of root and of system accounts are never strangers, and neither are programs
// that draw.

const (
	strangerPace   = time.Minute      // the shortest time between two messages to a user
	strangerNotice = time.Minute      // the shortest time from a message until the process is ended
	strangerMemory = 10 * time.Minute // how long a process is remembered after it was last seen as a stranger
	maxStrangers   = 256              // the largest number of strangers that are recorded for one GPU
)

// stranger is what is known about a stranger.
type stranger struct {
	uid  int       // the uid of its person
	told time.Time // when its user was told; zero: not yet
	ends time.Time // the end that the message to its user announced; zero: it announced none
	seen time.Time // the time of the last sample that showed it as a stranger
	next time.Time // when the next signal is due; zero: none was sent yet
	owed bool      // the message to its user is not sent yet
}

// strangers are the strangers that are remembered.
type strangers struct {
	of   map[process]*stranger
	pace map[int]time.Time // when each person who was told lately may get the next message
}

// StrangersFound is a user whose strangers are on GPUs of other users' jobs. The user is to be
// told, unless Ended says that the processes are being ended already.
type StrangersFound struct {
	job.Strangers
	Ended bool
}

// sighting is a stranger in the present sample, with all GPUs on which the process is a stranger.
type sighting struct {
	*stranger
	p    *gpu.Process
	used int64 // the known part of its GPU memory
	on   []job.StrangerGPU
}

// MeetStrangers finds the strangers in the last sample, and the users who must be told about them.
// It ends the strangers whose time is over.
func (b *Book) MeetStrangers(now time.Time) {
	if b.policy.Strangers == site.ShowStrangers || b.last.problem != "" {
		return
	}
	seen := b.sightings(now)
	var tell, end []*sighting
	for _, s := range seen {
		unwarned := b.policy.Strangers == site.EndStrangers && s.ends.IsZero()
		switch {
		case s.told.IsZero() || unwarned:
			if !now.Before(b.strangers.pace[s.uid]) {
				tell = append(tell, s)
			}
		case b.policy.Strangers != site.EndStrangers || s.owed || now.Before(s.ends) || now.Before(s.next):
		default:
			end = append(end, s)
		}
	}
	b.tellStrangers(tell, now)
	b.endStrangers(end, now)
	for p, s := range b.strangers.of {
		if now.Sub(s.seen) > strangerMemory {
			delete(b.strangers.of, p)
		}
	}
	for uid, at := range b.strangers.pace {
		if !now.Before(at) {
			delete(b.strangers.pace, uid)
		}
	}
	b.recordStrangers()
}

// sightings returns the strangers in the last sample, and remembers them.
func (b *Book) sightings(now time.Time) (list []*sighting) {
	at := map[process]*sighting{}
	for _, d := range b.devices {
		if !d.present || d.Health != gpu.HealthOK {
			continue
		}
		var holder *job.StrangerGPU
		var owners []int
		for i := range d.Processes {
			p := &d.Processes[i]
			if p.Start == 0 || d.jobs[p.PID] != 0 || p.ServesMPS() || !p.Computes() {
				continue
			}
			who := b.personOf(p)
			if who.Unsure || p.UID == 0 || !b.policy.IsPerson(who.UID) {
				continue
			}
			if owners == nil {
				holder, owners = b.holder(d)
			}
			if holder == nil || slices.Contains(owners, who.UID) {
				continue
			}
			key := process{p.PID, p.Start}
			s := at[key]
			if s == nil {
				if b.strangers.of[key] == nil {
					b.strangers.of[key] = &stranger{uid: who.UID}
				}
				s = &sighting{stranger: b.strangers.of[key], p: p}
				s.seen = now
				at[key], list = s, append(list, s)
			}
			s.used += max(0, p.UsedBytes)
			s.on = append(s.on, *holder)
		}
	}
	return list
}

// holder returns the running job that has had a GPU longest, or nil if no running job has the GPU.
// It also returns the persons of all running jobs that have the GPU.
func (b *inventory) holder(d *device) (first *job.StrangerGPU, owners []int) {
	owners = []int{}
	for l := range b.jobs.Live() {
		if l.State != job.Running || !b.jobs.Holds(l.ID, d.UUID) {
			continue
		}
		owners = append(owners, l.Person().UID)
		if since := l.Attempt.StartedAt; first == nil || since.Before(first.Since) {
			first = &job.StrangerGPU{Index: d.Index, Job: l.ID, Called: l.Called(), User: l.Owner.User, Since: since}
		}
	}
	return first, owners
}

// tellStrangers adds one finding for each user of new strangers. So one message tells the user
// about all of the user's new strangers.
func (b *Book) tellStrangers(list []*sighting, now time.Time) {
	for _, s := range list {
		s.told, s.owed = now, true
		b.strangers.pace[s.uid] = now.Add(strangerPace)
	}
	for _, found := range byPerson(list) {
		if b.policy.Strangers == site.EndStrangers {
			found.Ends = b.strangers.endFor(found.UID, b.policy.StrangersAfter, now)
			for _, s := range list {
				if s.uid == found.UID {
					s.ends = found.Ends
				}
			}
		}
		b.addFinding(StrangersFound{Strangers: found})
	}
}

// StrangersTold notes that a user was sent the messages about the user's strangers. A disk that fails
// delays a message, at times until the end that it announces.
func (b *Book) StrangersTold(uid int, now time.Time) {
	for _, s := range b.strangers.of {
		if s.uid == uid && s.owed {
			s.owed = false
			if least := now.Add(min(b.policy.StrangersAfter, strangerNotice)); !s.ends.IsZero() {
				s.ends = job.Later(s.ends, least)
			}
		}
	}
}

// endFor returns when a user's new strangers are to be ended. If the user was told before, starting
// the program again gains no time.
func (s *strangers) endFor(uid int, after time.Duration, now time.Time) time.Time {
	end := now.Add(after)
	for _, o := range s.of {
		if o.uid == uid && !o.ends.IsZero() && o.ends.Before(end) {
			end = o.ends
		}
	}
	if least := now.Add(min(after, strangerNotice)); end.Before(least) {
		return least
	}
	return end
}

// endStrangers sends SIGTERM to strangers whose time is over, and SIGKILL to those whose grace
// after the SIGTERM is over.
func (b *Book) endStrangers(list []*sighting, now time.Time) {
	var first []*sighting
	for _, s := range list {
		signal, wait := job.SIGKILL, strangerPace // a process in state D does not act on it yet
		if s.next.IsZero() {
			signal, wait = job.SIGTERM, b.policy.DefaultGrace
			first = append(first, s)
		}
		s.next = now.Add(wait)
		b.addFinding(StrayEnd{Stray: job.Stray{PID: s.p.PID, Start: s.p.Start}, UID: s.p.UID, Signal: signal})
	}
	for _, found := range byPerson(first) {
		b.addFinding(StrangersFound{Strangers: found, Ended: true})
	}
}

// byPerson sums up the strangers of each person in the list.
func byPerson(list []*sighting) (all []job.Strangers) {
	for _, s := range list {
		at := slices.IndexFunc(all, func(o job.Strangers) bool { return o.UID == s.uid })
		if at < 0 {
			at, all = len(all), append(all, job.Strangers{UID: s.uid})
		}
		all[at].Add(s.p.PID, s.p.Comm, s.used, s.on)
	}
	return all
}

// recordStrangers records, for each GPU, the strangers whose users were told, if they have changed.
// Without the record, a restarted daemon would tell these users again.
func (b *Book) recordStrangers() {
	for _, d := range b.devices {
		if !d.present || d.Health != gpu.HealthOK || d.ProcessesUnknown {
			continue
		}
		g := b.controls[d.UUID]
		if g.Fault.Boot != b.boot() {
			g.Fault.Strangers = nil
		}
		if list := b.listStrangers(d); !slices.EqualFunc(list, g.Fault.Strangers, job.Stranger.Equal) {
			b.faultOfThisBoot(&g, d)
			g.Fault.Strangers = list
			b.recordControl(g)
		}
	}
}

// listStrangers returns those strangers on a GPU whose users were told.
func (b *inventory) listStrangers(d *device) (list []job.Stranger) {
	for i := range d.Processes {
		p := &d.Processes[i]
		if s := b.strangers.of[process{p.PID, p.Start}]; s != nil && !s.told.IsZero() && len(list) < maxStrangers {
			list = append(list, job.Stranger{PID: p.PID, Start: p.Start, UID: s.uid, Told: s.told, Ends: s.ends})
		}
	}
	slices.SortFunc(list, func(a, b job.Stranger) int { return a.PID - b.PID })
	return list
}

// restoreStrangers adds the strangers that are on record.
func (b *Book) restoreStrangers(list []job.Stranger) {
	for _, s := range list {
		b.strangers.of[process{s.PID, s.Start}] = &stranger{uid: s.UID, told: s.Told, ends: s.Ends, seen: s.Told}
		if until := s.Told.Add(strangerPace); b.strangers.pace[s.UID].Before(until) {
			b.strangers.pace[s.UID] = until
		}
	}
}

func (s *strangers) shift(by time.Duration, now time.Time) {
	for _, o := range s.of {
		job.Shift(by, now, &o.told, &o.ends, &o.seen, &o.next)
	}
	for uid, at := range s.pace {
		s.pace[uid] = job.Shifted(at, by, now)
	}
}
