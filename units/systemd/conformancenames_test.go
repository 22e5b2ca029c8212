package systemd

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"testing"

	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/unittest"
)

// testExists: no second unit starts under the name of a unit that has not been stopped.
func testExists(t *testing.T, s *stage) {
	for i, c := range []struct {
		name  string
		b     unittest.Behaviour
		phase units.Phase
	}{
		{"running", unittest.Behaviour{}, units.PhaseRunning},
		{"exited", unittest.Behaviour{Ends: true}, units.PhaseExited},
		{"failed", unittest.Behaviour{Ends: true, Code: 3}, units.PhaseExited},
	} {
		id := int64(30 + i)
		first := s.start(id, c.b)
		s.waitPhase(id, c.phase)
		_, err := s.m.Start(s.ctx, units.Name(id), s.bench.Properties(id, c.b))
		if !errors.Is(err, units.ErrExists) {
			t.Errorf("%s: second start: %v", c.name, err)
		}
		if now := s.status(id); now.InvocationID != first.InvocationID {
			t.Errorf("%s: invocation %q became %q", c.name, first.InvocationID, now.InvocationID)
		}
		s.stop(id)
	}
}

func testManyStarts(t *testing.T, s *stage) {
	const callers = 8
	props := s.bench.Properties(1, unittest.Behaviour{})
	errs := make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { _, errs[i] = s.m.Start(s.ctx, units.Name(1), props) })
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, units.ErrExists):
			t.Errorf("error is %v, want %v", err, units.ErrExists)
		}
	}
	if won != 1 {
		t.Errorf("%d starts of one name, want 1", won)
	}
	s.stop(1)
}

// testAgain: after a stop the name is free at once, and the attempts have different invocations.
func testAgain(t *testing.T, s *stage) {
	seen := map[string]bool{}
	for i := range 5 {
		b := unittest.Behaviour{Ends: i%2 == 0, Code: i}
		got := s.start(1, b)
		if seen[got.InvocationID] {
			t.Fatalf("invocation %q twice", got.InvocationID)
		}
		seen[got.InvocationID] = true
		s.stop(1)
	}
}

func testAbsent(t *testing.T, s *stage) {
	for range 3 {
		got := s.status(404)
		if phase, exit := units.Decode(got); phase != units.PhaseAbsent || exit != (contract.Exit{}) ||
			got.InvocationID != "" {
			t.Fatalf("got %s %+v from %+v", phase, exit, got)
		}
	}
	s.start(1, unittest.Behaviour{})
	s.kill(1, syscall.SIGKILL) // this change comes last: the reads before caused none
	for {
		c := <-s.m.Changes()
		if c.Name == units.Name(404) {
			t.Fatal("a look at an absent unit was told as a change")
		}
		if c.Name == units.Name(1) {
			break
		}
	}
	s.stop(1)
}

func testList(t *testing.T, s *stage) {
	if all, err := s.m.List(s.ctx); err != nil || len(all) != 0 {
		t.Fatalf("List at first: %v, %v", all, err)
	}
	s.start(9, unittest.Behaviour{})
	s.start(10, unittest.Behaviour{Ends: true})
	s.start(11, unittest.Behaviour{Ends: true, Code: 7})
	s.waitPhase(10, units.PhaseExited)
	s.waitPhase(11, units.PhaseExited)
	all, err := s.m.List(s.ctx)
	if err != nil || len(all) != 3 {
		t.Fatalf("List: %v, %v", all, err)
	}
	for i, id := range []int64{10, 11, 9} { // sorted by name
		got, want := all[i], s.status(id)
		got.CPUNSec, got.Age, got.EndAge = 0, 0, 0 // these grow
		want.CPUNSec, want.Age, want.EndAge = 0, 0, 0
		if got != want {
			t.Errorf("List has %+v, Status %+v", got, want)
		}
	}
	for _, id := range []int64{9, 10, 11} {
		s.stop(id)
	}
}

// testNames: a unit whose name is not that of a job's unit is refused.
func testNames(t *testing.T, s *stage) {
	for _, name := range []string{"", "dbus.service", "gpujob-1.scope", "gpujob-01.service", "gpujob-0.service",
		"gpujob-1@x.service"} {
		for op, err := range s.callErrors(s.ctx, name) {
			if err == nil || errors.Is(err, units.ErrBus) {
				t.Errorf("%s(%q): error is %v, want a refusal", op, name, err)
			}
		}
	}
}

func testContext(t *testing.T, s *stage) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	errs := s.callErrors(ctx, units.Name(1))
	_, errs["List"] = s.m.List(ctx)
	for op, err := range errs {
		if !errors.Is(err, units.ErrBus) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error is %v, want %v and the context's", op, err, units.ErrBus)
		}
	}
}
