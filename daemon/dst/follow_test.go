package dst

import (
	"context"
	"maps"
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// follower is a client that follows the events. It lists the jobs at the beginning and after each
// gap in the events.
type follower struct {
	last   int64 // last event that it knows, or the number from which it follows; 0: it has not begun
	given  int64 // last event that it was given
	states map[job.ID]job.State
}

// follow makes the follower read all new events (invariant 19).
func (w *World) follow() {
	f := &w.follower
	for {
		now, _ := w.daemon.Events(context.Background(), -1)
		last := now.Newest
		if f.last == 0 {
			w.relist(last)
		}
		if last == f.last {
			return
		}
		out, err := w.daemon.Events(context.Background(), f.last)
		switch {
		case err != nil:
			return
		case last < f.given && !w.tracked.lost:
			w.breach(19, "after event %d the last is %d", f.given, last)
			return
		case out.Gap:
			w.count("gap of events")
			w.relist(out.Last)
			continue
		}
		for i := range out.List {
			w.judgeEvent(&out.List[i])
		}
	}
}

// relist makes the follower start again from a list of the jobs on record.
func (w *World) relist(number int64) {
	w.follower = follower{last: number, given: w.follower.given, states: map[job.ID]job.State{}}
	for id, j := range w.disk.jobs {
		w.follower.states[id] = j.State
	}
}

func (w *World) judgeEvent(e *job.Event) {
	f := &w.follower
	if e.Number != f.last+1 {
		w.breach(19, "event %d comes after %d", e.Number, f.last)
	}
	f.last, f.given = e.Number, e.Number
	w.count(string(e.Kind))
	if e.State == "" {
		return
	}
	f.states[e.Job] = e.State
	stored, known := w.disk.jobs[e.Job]
	switch {
	case !known:
		w.breach(19, "event %d is about job %d, which is not on record", e.Number, e.Job)
	case e.State.Terminal() && stored.State != e.State,
		e.Attempt > 0 && (stored.Attempt == nil || stored.Attempt.Number < e.Attempt):
		w.breach(19, "event %d reports that attempt %d of job %d is %s, and on record it is %s", e.Number, e.Attempt, e.Job,
			e.State, stored.State)
	}
}

// judgeFollowed checks at the end that what the follower knows is on record.
func (w *World) judgeFollowed() {
	for _, id := range slices.Sorted(maps.Keys(w.disk.jobs)) {
		if has, is := w.follower.states[id], w.disk.jobs[id].State; has != is {
			w.breach(19, "according to the events job %d is %q, and it is %s", id, has, is)
		}
	}
}
