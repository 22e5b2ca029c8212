package systemd

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/unittest"
)

func testStop(t *testing.T, s *stage) {
	s.stop(1) // never existed
	for i, b := range []unittest.Behaviour{{}, {Ends: true}, {Ends: true, Code: 7}, {Ends: true, Signal: 9},
		{Ends: true, Signal: 15}} {
		id := int64(40 + i)
		s.start(id, b)
		if b.Ends {
			s.waitPhase(id, units.PhaseExited)
		}
		s.stop(id)
		s.stop(id)
	}
	if all, err := s.m.List(s.ctx); err != nil || len(all) != 0 {
		t.Errorf("List after stops: %+v, %v", all, err)
	}
	s.start(50, unittest.Behaviour{})
	var all sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		all.Go(func() { errs[i] = s.m.Stop(s.ctx, units.Name(50)) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Errorf("stops at once: %v", err)
	}
	s.phase(50, units.PhaseAbsent)
}

func testStopDeaf(_ *testing.T, s *stage) {
	s.start(1, unittest.Behaviour{Deaf: true})
	got := s.status(1)
	s.stop(1)
	s.checkProcesses(got, 0, "after the stop")
}

// testStopping: a main process may say that it is stopping, and delay its end. It then counts as
// running, and is ended like any other.
func testStopping(t *testing.T, s *stage) {
	for i, b := range []unittest.Behaviour{{Extends: true}, {Stopping: true, Extends: true}} {
		id := int64(60 + i)
		started := s.start(id, b)
		got := s.status(id)
		if phase, _ := units.Decode(got); phase != units.PhaseRunning || got.MainPID == 0 ||
			got.InvocationID != started.InvocationID {
			t.Errorf("%+v: %s, %+v", b, phase, got)
		}
		s.checkProcesses(got, 1, "stopping")
		if _, err := s.m.Start(s.ctx, units.Name(id), s.bench.Properties(id, b)); !errors.Is(err, units.ErrExists) {
			t.Errorf("%+v: second start: %v", b, err)
		}
		s.stop(id)
		s.checkProcesses(got, 0, "after the stop")
		s.start(id, b)
		s.kill(id, syscall.SIGKILL)
		_, exit := s.waitPhase(id, units.PhaseExited)
		if b.Stopping {
			exit.Stopped = false // systemd before 254 believes the process's message that it was being stopped
		}
		if exit != (contract.Exit{Signal: 9}) {
			t.Errorf("%+v: killed: got %+v", b, exit)
		}
		s.stop(id)
	}
}

// testSweep: processes that a job left behind live on until the unit is stopped. If the job failed,
// systemd kills them at once. After a stop there are none.
func testSweep(t *testing.T, s *stage) {
	s.start(1, unittest.Behaviour{Ends: true, Orphan: true})
	left, _ := s.waitPhase(1, units.PhaseExited)
	s.checkProcesses(left, 1, "left behind at exit 0")
	s.stop(1)
	s.checkProcesses(left, 0, "after the stop")
	s.start(2, unittest.Behaviour{Ends: true, Code: 3, Orphan: true})
	swept, exit := s.waitPhase(2, units.PhaseExited)
	if exit.Code != 3 {
		t.Errorf("exit 3: got %+v", exit)
	}
	swept.ControlGroup = strings.ReplaceAll(left.ControlGroup, units.Name(1), units.Name(2))
	s.checkProcesses(swept, 0, "after exit 3")
	s.stop(2)
}

// testSpent: if a unit ended by itself, only its result remains, unless it has a process or a
// command for its stop.
func testSpent(t *testing.T, s *stage) {
	s.start(1, unittest.Behaviour{})
	if got := s.status(1); got.Spent {
		t.Errorf("a unit that runs: %+v", got)
	}
	for i, b := range []unittest.Behaviour{{Ends: true}, {Ends: true, Code: 3}, {Ends: true, Code: 3, Orphan: true},
		{Ends: true, Signal: 15}} {
		id := int64(10 + i)
		s.start(id, b)
		s.waitPhase(id, units.PhaseExited)
		s.waitSpent(id)
		s.stop(id)
	}
	s.start(2, unittest.Behaviour{Ends: true, Orphan: true})
	if got, _ := s.waitPhase(2, units.PhaseExited); got.Spent {
		t.Errorf("a unit with a process: %+v", got)
	}
	s.kill(2, syscall.SIGKILL)
	s.waitSpent(2)
	stopped := append(s.bench.Properties(3, unittest.Behaviour{Ends: true}),
		units.Property{Name: "ExecStopPost", Value: []units.ExecCommand{{Path: "/bin/true", Args: []string{"/bin/true"}}}})
	if _, err := s.m.Start(s.ctx, units.Name(3), stopped); err != nil {
		t.Fatal(err)
	}
	got, _ := s.waitPhase(3, units.PhaseExited)
	s.checkProcesses(got, 0, "exited")
	for range 2 { // first from the unit's signals, then completely read
		if got := s.status(3); got.Spent {
			t.Errorf("a unit with a command for its stop: %+v", got)
		}
		all, err := s.m.List(s.ctx)
		if err != nil || slices.ContainsFunc(all, func(u units.Status) bool { return u.Spent != (u.Name == units.Name(2)) }) {
			t.Errorf("List: %+v, %v", all, err)
		}
	}
	for id := range int64(3) {
		s.stop(id + 1)
	}
}

// waitSpent waits until only the result of a unit remains. systemd does not announce that: the last
// process ends a moment after the main process.
func (s *stage) waitSpent(id int64) {
	s.Helper()
	for until := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		got := s.status(id)
		if got.Spent {
			return
		}
		if time.Now().After(until) {
			s.Fatalf("unit %d is not spent: %+v", id, got)
		}
	}
}

// testManyChanges: a reader that sleeps through many units learns about each of them.
func testManyChanges(t *testing.T, s *stage) {
	const count = 40
	for id := int64(1); id <= count; id++ {
		s.start(id, unittest.Behaviour{Ends: true, Code: int(id % 2)})
	}
	for id := int64(1); id <= count; id++ {
		s.stop(id)
	}
	told := map[string]bool{}
	late := time.After(patience)
	for len(told) < count {
		select {
		case c := <-s.m.Changes():
			if c.Resync {
				return
			}
			told[c.Name] = true
		case <-late:
			t.Fatalf("told of %d of %d units", len(told), count)
		}
	}
}
