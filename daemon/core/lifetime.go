package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Whoever has a process on a GPU began it while their job ran, or after that: systemd
// knows when a command ended, and the scheduler learns of it later, sometimes much.

// lifetime is what is known of how long the unit of an attempt has run.
type lifetime struct {
	asked time.Time // when its start was asked for; zero: not by this daemon
	alive time.Time // the last moment at which something of it was seen to run; zero: none
	ended time.Time // when its command did, as its unit tells; zero: it has not told
	spent bool      // nothing was left in the unit then
	left  int       // how many processes its command left running
	gone  bool      // the unit is not there any more, so nobody knows when it did
}

// life is the lifetime of the current attempt.
func (l *trackedJob) life() *lifetime {
	if l.lifetime == nil {
		l.lifetime = new(lifetime)
	}
	return l.lifetime
}

// saw takes in what a unit says of when its command ran.
func (t *lifetime) saw(u *Unit, now time.Time) {
	read := now.Add(-u.Old)
	switch {
	case u.Phase == Active:
		t.sawProcess(read)
	case u.Phase == Exited && u.EndAge != 0:
		t.ended, t.spent = read.Add(-u.EndAge), t.spent || u.Spent
	}
}

// sawProcess notes that something of it was there.
func (t *lifetime) sawProcess(at time.Time) {
	if at.After(t.alive) {
		t.alive = at
	}
}

// known is up to when it is known to have run. What a GPU shows of it after nothing was left has ended, too.
func (t *lifetime) known() time.Time {
	if t.spent {
		return t.ended
	}
	return later(t.alive, t.ended)
}

// end is between which moments the last process of an attempt ended that is over now.
func (t *lifetime) end(now time.Time) span {
	if t.spent {
		return span{t.ended, t.ended}
	}
	return span{t.known(), now}
}

// shift moves its times with a clock that was set.
func (t *lifetime) shift(by time.Duration, now time.Time) {
	t.asked, t.alive, t.ended = moved(t.asked, by, now), moved(t.alive, by, now), moved(t.ended, by, now)
}

// startPatience is how long a start may go unanswered before its unit is looked at where
// something happens to it, and at each listing: the answer may be lost.
const startPatience = time.Second

// lookEarly looks at the unit of a start that has not been answered for long.
func (c *Core) lookEarly(l *trackedJob, now time.Time) {
	if l.action == starting && now.Sub(l.life().asked) > startPatience {
		w := whose(l.job)
		w.Attempt = l.job.Attempt.Number
		c.step.act(Inspect{Job: l.job.ID, Attempt: w.Attempt, Whose: w, Early: true})
	}
}

// sawEarly takes in what is seen of the unit of a start that is not answered yet: that it
// was made, if it was.
func (c *Core) sawEarly(l *trackedJob, e Inspected, now time.Time) {
	if l.action == starting && e.OK && (e.Unit.Phase == Active || e.Unit.Phase == Exited) {
		c.begun(l, e.Unit, now)
	}
}

// noteAlive puts on record that the machine is on, so that what a reboot or a power cut takes is
// known to have run up to now. What is on record stays while it is needed.
func (c *Core) noteAlive(now time.Time) {
	for _, l := range c.jobs.allActive() {
		if c.systemd.wasOff(l.job.Attempt) {
			return
		}
	}
	if c.systemd.listed() && c.jobs.activeCount() > 0 {
		c.step.record(job.Record{Alive: now})
	}
}

// ranUntil returns the time until which an attempt ran that has no EndedAt yet: now, or when its command ended
// if nothing of it was left then. One that a reboot took ran until the machine was last known to be on, and so did one
// whose unit went while no daemon was there.
func (c *Core) ranUntil(l *trackedJob, now time.Time) time.Time {
	at := now
	switch {
	case c.systemd.wasOff(l.job.Attempt), l.life().gone && l.life().alive.IsZero():
		at = c.systemd.lastSeen()
	case l.life().spent:
		at = l.life().ended
	}
	at = later(at, later(l.job.Attempt.PlacedAt, l.job.Attempt.StartedAt))
	if at.After(now) {
		return now
	}
	return at
}

// span is between which moments something happened, by the core's clock.
type span struct{ from, to time.Time }

// strayOf says whether a process is a stray of the job that left the GPU; no job: it is not.
// One that may have begun before the job or after its end counts as one, unsurely, until another look.
func (dep *cleanup) strayOf(uid int, began span) membership {
	switch {
	case dep.attempt == 0 || dep.uid != uid || began.from.After(dep.ended.to):
		return membership{}
	case !dep.unsure && began.to.Before(dep.began):
		return membership{}
	}
	older, newer := began.from.Before(dep.began), began.to.After(dep.ended.from)
	return membership{job: dep.job, unsure: dep.unsure || older || newer}
}

// holderOf is the job of a user that has the GPU and during which a process began, and
// whether it is known to have run then; nil: there is none. A job has no process before its unit was asked for.
func (b *gpuBook) holderOf(uuid string, uid int, began span) (last *trackedJob, sure bool) {
	for _, id := range b.jobs.activeIDs() {
		l := b.jobs.active(id)
		if l.unasked || l.job.Person().UID != uid || !b.jobs.holds(id, uuid) || began.from.Before(l.began()) {
			continue
		}
		known := !began.to.After(l.life().known())
		switch {
		case l.life().spent && began.from.After(l.life().ended): // it had ended before
		case last == nil, known && !sure, known == sure && l.began().After(last.began()):
			last, sure = l, known
		}
	}
	return last, sure
}

// remembers reports whether it is known when a job ran that has the GPU, or has left it
// since it was clean.
func (b *gpuBook) remembers(d *device, id job.ID) bool {
	for dep := d.cleanup; dep != nil; dep = dep.earlier {
		if dep.job == id && dep.attempt != 0 {
			return true
		}
	}
	return b.jobs.holds(id, d.UUID)
}
