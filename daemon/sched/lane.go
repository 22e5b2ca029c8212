package sched

import (
	"iter"
	"time"
)

// Lane counts running jobs of which only a certain number may run at once: the tasks of an array,
// the jobs of one account that name the same lane, or all jobs that name a lane of the site.
type Lane struct {
	Running int
	begun   int           // how many jobs of the lane this pass has started
	kept    int           // how many places in the lane this pass keeps for jobs with reservations
	keptIn  time.Duration // the time until the first of these jobs starts
	own     bool          // time for which the lane was full does not count as waiting
	since   Instant       // no wait in the lane counts from an earlier moment; only for own lanes
	left    []Instant     // left[n]: when an end last left n jobs running; only for own lanes
}

// OwnLane returns a lane of one account. When such a lane gets room, the waits of its jobs begin
// anew: until then they waited because the account's owner wanted it.
func OwnLane() Lane { return Lane{own: true} }

// Restart makes the waits in an own lane begin now.
func (l *Lane) Restart(now Instant) { l.since, l.left = now, nil }

// Shift adjusts the recorded times after the clock was set.
func (l *Lane) Shift(by time.Duration) {
	l.since = l.since.Add(by)
	for i := range l.left {
		l.left[i] = l.left[i].Add(by)
	}
}

// Throttle makes a job wait until the lane has room, and until the next throttle does as well.
type Throttle struct {
	Limit int // the job starts only while fewer jobs than this run in the lane
	Lane  *Lane
	Next  *Throttle // nil: none
}

// all yields the throttle and those that follow it. A nil throttle yields nothing.
func (t *Throttle) all() iter.Seq[*Throttle] {
	return func(yield func(*Throttle) bool) {
		for ; t != nil && yield(t); t = t.Next {
		}
	}
}

// Full returns the first throttle whose lane has no room for one more job, or nil. The starts of a
// pass do not count.
func (t *Throttle) Full() *Throttle {
	for ; t != nil && t.Lane.Running < t.Limit; t = t.Next {
	}
	return t
}

// isOpen reports whether this pass may start one more job with this run time. If the job ends before
// a place that is kept in a lane is needed, the job may have that place.
func (t *Throttle) isOpen(run time.Duration) bool {
	for t := range t.all() {
		has := t.Lane.Running + t.Lane.begun
		if run > t.Lane.keptIn {
			has += t.Lane.kept
		}
		if has >= t.Limit {
			return false
		}
	}
	return true
}

// begin counts one more job that this pass has started. It appends the lanes to a list.
func (t *Throttle) begin(list []*Lane) []*Lane {
	for ; t != nil; t = t.Next {
		t.Lane.begun++
		list = append(list, t.Lane)
	}
	return list
}

// keep keeps a place for a job that starts after the given time. It appends the lanes to a list.
func (t *Throttle) keep(in time.Duration, list []*Lane) []*Lane {
	for t := range t.all() {
		if t.Lane.kept++; t.Lane.kept == 1 || in < t.Lane.keptIn {
			t.Lane.keptIn = in
		}
		list = append(list, t.Lane)
	}
	return list
}

// Count counts n more running jobs.
func (t *Throttle) Count(n int) {
	for t := range t.all() {
		t.Lane.Running += n
	}
}

// End counts the end of a job.
func (t *Throttle) End(now Instant) {
	for t := range t.all() {
		l := t.Lane
		if l.Running--; l.own {
			for len(l.left) <= l.Running {
				l.left = append(l.left, l.since)
			}
			l.left[l.Running] = now
		}
	}
}

// turn says since when the jobs of an own lane that have the same limit have had room.
type turn struct {
	lane  *Lane // nil: the jobs are in no such lane
	limit int
}

func (t *Throttle) turn() turn {
	for t := range t.all() {
		if t.Lane.own {
			return turn{t.Lane, t.Limit}
		}
	}
	return turn{}
}

// Turn returns the moment from which a wait counts that began at the given moment.
func (t *Throttle) Turn(since Instant) Instant { return t.turn().of(since) }

func (t turn) of(since Instant) Instant {
	switch {
	case t.lane == nil:
		return since
	case t.limit > len(t.lane.left):
		return max(since, t.lane.since)
	}
	return max(since, t.lane.left[t.limit-1])
}
