package unittest

import (
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
)

func testStop(t *testing.T, s *stage) {
	s.stop(1) // never was
	for i, b := range []Behaviour{{}, {Ends: true}, {Ends: true, Code: 7}, {Ends: true, Signal: 9},
		{Ends: true, Signal: 15}} {
		id := int64(40 + i)
		s.start(id, b)
		if b.Ends {
			s.until(id, units.PhaseExited)
		}
		s.stop(id)
		s.stop(id)
	}
	if all, err := s.m.List(s.ctx); err != nil || len(all) != 0 {
		t.Errorf("List after stops: %+v, %v", all, err)
	}
	s.start(50, Behaviour{})
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
	s.start(1, Behaviour{Deaf: true})
	got := s.status(1)
	s.stop(1)
	s.processes(got, 0, "after the stop")
}

// testStopping: a main process that says that it stops, and puts that off, runs
// for everybody who looks, and is ended like any other.
func testStopping(t *testing.T, s *stage) {
	for i, b := range []Behaviour{{Extends: true}, {Stopping: true, Extends: true}} {
		id := int64(60 + i)
		started := s.start(id, b)
		got := s.status(id)
		if phase, _ := units.Decode(got); phase != units.PhaseRunning || got.MainPID == 0 ||
			got.InvocationID != started.InvocationID {
			t.Errorf("%+v: %s, %+v", b, phase, got)
		}
		s.processes(got, 1, "stopping")
		if _, err := s.m.Start(s.ctx, units.Name(id), s.bench.Properties(id, b)); !errors.Is(err, units.ErrExists) {
			t.Errorf("%+v: second start: %v", b, err)
		}
		s.stop(id)
		s.processes(got, 0, "after the stop")
		s.start(id, b)
		s.kill(id, syscall.SIGKILL)
		if _, exit := s.until(id, units.PhaseExited); exit != (contract.Exit{Signal: 9}) {
			t.Errorf("%+v: killed: got %+v", b, exit)
		}
		s.stop(id)
	}
}

// testSweep: what a job leaves behind lives until the unit is stopped, or, where
// the job failed, is swept by systemd at once. After a stop there is nothing.
func testSweep(t *testing.T, s *stage) {
	s.start(1, Behaviour{Ends: true, Orphan: true})
	left, _ := s.until(1, units.PhaseExited)
	s.processes(left, 1, "left behind at exit 0")
	s.stop(1)
	s.processes(left, 0, "after the stop")
	s.start(2, Behaviour{Ends: true, Code: 3, Orphan: true})
	swept, exit := s.until(2, units.PhaseExited)
	if exit.Code != 3 {
		t.Errorf("exit 3: got %+v", exit)
	}
	swept.ControlGroup = strings.ReplaceAll(left.ControlGroup, units.Name(1), units.Name(2))
	s.processes(swept, 0, "after exit 3")
	s.stop(2)
}

// testManyChanges: a reader that sleeps through many lives learns of every unit
// that there was.
func testManyChanges(t *testing.T, s *stage) {
	const count = 40
	for id := int64(1); id <= count; id++ {
		s.start(id, Behaviour{Ends: true, Code: int(id % 2)})
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
