package tracked

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Lifetime is what is known of how long the unit of an attempt has run.
type Lifetime struct {
	Asked time.Time // when its start was asked for; zero: not by this daemon
	Alive time.Time // the last moment at which something of it was seen to run; zero: none
	Ended time.Time // when its command did, as its unit tells; zero: it has not told
	Spent bool      // nothing was left in the unit then
	Left  int       // how many processes its command left running
	Gone  bool      // the unit is not there any more, so nobody knows when it did
}

// Lifetime is the lifetime of the current attempt.
func (l *Job) Lifetime() *Lifetime {
	if l.lifetime == nil {
		l.lifetime = new(Lifetime)
	}
	return l.lifetime
}

// SawProcess notes that something of it was there.
func (t *Lifetime) SawProcess(at time.Time) {
	if at.After(t.Alive) {
		t.Alive = at
	}
}

// Known is up to when it is known to have run. What a GPU shows of it after nothing was left has ended, too.
func (t *Lifetime) Known() time.Time {
	if t.Spent {
		return t.Ended
	}
	return job.Later(t.Alive, t.Ended)
}

// End is between which moments the last process of an attempt ended that is over now.
func (t *Lifetime) End(now time.Time) Span {
	if t.Spent {
		return Span{t.Ended, t.Ended}
	}
	return Span{t.Known(), now}
}

// Shift moves its times with a clock that was set.
func (t *Lifetime) Shift(by time.Duration, now time.Time) {
	job.Shift(by, now, &t.Asked, &t.Alive, &t.Ended)
}

// Span is between which moments something happened, by the core's clock.
type Span struct{ From, To time.Time }
