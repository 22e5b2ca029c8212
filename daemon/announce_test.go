package daemon_test

import (
	"context"
	"slices"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// lastNumber returns the number of the last event.
func (r *rig) lastNumber() int64 {
	r.t.Helper()
	out, err := r.d.Events(r.t.Context(), -1)
	if err != nil || out.Gap || len(out.List) > 0 {
		r.t.Fatalf("%+v, %v", out, err)
	}
	return out.Newest
}

// awaitState reads the events after a number until the job reaches a state. It returns the number
// of the event about that state, and the kinds of the job's events up to that event.
func (r *rig) awaitState(after int64, id job.ID, state job.State) (last int64, kinds []job.EventKind) {
	r.t.Helper()
	for {
		out, err := r.d.Events(r.t.Context(), after)
		if err != nil || out.Gap {
			r.t.Fatalf("after %d: %+v, %v", after, out, err)
		}
		for _, e := range out.List {
			if e.Number != after+1 {
				r.t.Errorf("event %d comes after %d", e.Number, after)
			}
			if after = e.Number; e.Job != id {
				continue
			}
			if kinds = append(kinds, e.Kind); e.State == state {
				return after, kinds
			}
		}
	}
}

// After a restart, a subscriber that had every earlier event continues without a gap, and gets the
// events that happened meanwhile. If the daemon does not have the events after a subscriber's
// number, the subscriber learns that there is a gap.
func TestEventsGoOnAfterARestart(t *testing.T) {
	r := newRig(t, 1, nil)
	from := r.lastNumber()
	id := r.submit(1, nil)
	at, kinds := r.awaitState(from, id, job.Running)
	if want := []job.EventKind{job.EventQueued, job.EventPlaced, job.EventStarted}; !slices.Equal(kinds, want) {
		t.Errorf("%v, want %v", kinds, want)
	}
	r.waitUntil("all is written", func() bool { return r.state(id) == job.Running })
	at = max(at, r.lastNumber())
	r.stop()
	r.bus.Exit(id.Unit(), 3)
	r.start()
	if _, kinds = r.awaitState(at, id, job.Failed); kinds[len(kinds)-1] != job.EventEnded {
		t.Errorf("after the restart %v", kinds)
	}
	for _, gone := range []int64{from, r.lastNumber() + 1000} {
		if out, err := r.d.Events(t.Context(), gone); err != nil || !out.Gap || out.Last < at {
			t.Errorf("after %d: %+v, %v", gone, out, err)
		}
	}
}

// No event is announced before its record is on disk.
func TestNothingIsAnnouncedBeforeItsRecord(t *testing.T) {
	r := newRig(t, 1, nil)
	r.waitUntil("the GPUs are announced", func() bool {
		out, err := r.d.Events(t.Context(), -1)
		return err == nil && out.Newest > out.Oldest
	})
	from := r.lastNumber()
	r.store.full.Store(true)
	if _, err := r.d.Submit(t.Context(), submission(1), false); err == nil {
		t.Fatal("the disk is full, and the job is queued")
	}
	if n := r.lastNumber(); n != from {
		t.Errorf("event %d is announced, and not on disk", n)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if out, err := r.d.Events(gone, from); err != nil || len(out.List) > 0 || out.Last != from {
		t.Errorf("for one who waits no more: %+v, %v", out, err)
	}
	r.store.full.Store(false)
	if _, kinds := r.awaitState(from, 1, job.Running); kinds[0] != job.EventQueued {
		t.Errorf("when the disk works again: %v", kinds)
	}
}

// Some events have no record of their own, so only their number is written. They are announced even
// if the first write of the number fails and nothing else happens.
func TestANumberIsWrittenAgain(t *testing.T) {
	r := newRig(t, 1, nil)
	id := r.submit(1, nil)
	r.awaitState(r.lastNumber()-1, id, job.Running)
	r.waitUntil("all is written", func() bool { return r.state(id) == job.Running })
	from := r.lastNumber()
	r.store.short.Store(2)
	r.d.Reload(r.settings)
	out, err := r.d.Events(t.Context(), from)
	if err != nil || len(out.List) != 1 || out.List[0].Kind != job.EventSettings {
		t.Errorf("%+v, %v", out, err)
	}
	if n := r.store.short.Load(); n >= 0 {
		t.Errorf("%d writes have not failed yet", n)
	}
}

// When the daemon stops, its subscribers get an error.
func TestAStopEndsFollowers(t *testing.T) {
	r := newRig(t, 1, nil)
	began := r.lastNumber()
	id := r.submit(1, nil)
	r.awaitState(began, id, job.Running)
	r.waitUntil("all is written", func() bool { return r.state(id) == job.Running })
	told := make(chan error, 1)
	from := r.lastNumber()
	go func() {
		for at := from; ; {
			out, err := r.d.Events(context.Background(), at)
			if err != nil {
				told <- err
				return
			}
			at = out.Last
		}
	}()
	r.stop()
	if err := <-told; err == nil {
		t.Error("no error")
	}
}
