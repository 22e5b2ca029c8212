package systemd

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/unittest"
)

func testStart(t *testing.T, s *stage) {
	got := s.start(1, unittest.Behaviour{})
	if phase, _ := units.Decode(got); phase != units.PhaseRunning {
		t.Fatalf("Start returned %+v, want a running unit", got)
	}
	if len(got.InvocationID) != 32 || !got.WasActive || got.JobPending || got.Name != units.Name(1) {
		t.Fatalf("Start returned %+v", got)
	}
	again := s.status(1)
	if again.InvocationID != got.InvocationID || again.Active != got.Active {
		t.Fatalf("Status is %+v after Start returned %+v", again, got)
	}
	s.checkProcesses(again, 1, "running")
	s.stop(1)
}

// testExits: the unit shows how its main process ended, unchanged, until it is stopped.
func testExits(t *testing.T, s *stage) {
	for i, c := range []struct {
		name   string
		b      unittest.Behaviour
		want   contract.Exit
		active string
		result string
	}{
		{"0", unittest.Behaviour{Ends: true}, contract.Exit{}, units.ActiveActive, units.ResultSuccess},
		{"7", unittest.Behaviour{Ends: true, Code: 7}, contract.Exit{Code: 7}, units.ActiveFailed, units.ResultExitCode},
		{"systemd's own number", unittest.Behaviour{Ends: true, Code: 203}, contract.Exit{Code: 203}, units.ActiveFailed, units.ResultExitCode},
		{"255", unittest.Behaviour{Ends: true, Code: 255}, contract.Exit{Code: 255}, units.ActiveFailed, units.ResultExitCode},
		{"TERM", unittest.Behaviour{Ends: true, Signal: 15}, contract.Exit{Signal: 15}, units.ActiveActive, units.ResultSuccess},
		{"KILL", unittest.Behaviour{Ends: true, Signal: 9}, contract.Exit{Signal: 9}, units.ActiveFailed, units.ResultSignal},
		{"USR1", unittest.Behaviour{Ends: true, Signal: 10}, contract.Exit{Signal: 10}, units.ActiveFailed, units.ResultSignal},
		{"time limit", unittest.Behaviour{TimesOut: true}, contract.Exit{Signal: 15, Stopped: true}, units.ActiveFailed, units.ResultTimeout},
	} {
		id := int64(10 + i)
		started := s.start(id, c.b)
		status, exit := s.waitPhase(id, units.PhaseExited)
		if exit != c.want || status.Active != c.active || status.Result != c.result {
			t.Errorf("%s: got %+v from %+v, want %+v (%s, %s)", c.name, exit, status, c.want, c.active, c.result)
		}
		if status.InvocationID != started.InvocationID {
			t.Errorf("%s: invocation %q became %q", c.name, started.InvocationID, status.InvocationID)
		}
		if _, again := units.Decode(s.status(id)); again != c.want {
			t.Errorf("%s: read again: %+v", c.name, again)
		}
		s.stop(id)
	}
}

func testLauncher(t *testing.T, s *stage) {
	s.start(1, unittest.Behaviour{Launch: contract.StepExec, Code: 203, Errno: int(syscall.ENOENT)})
	if _, exit := s.waitPhase(1, units.PhaseExited); exit.Launch != contract.StepExec || exit.Errno != int(syscall.ENOENT) {
		t.Errorf("exec: got %+v", exit)
	}
	s.stop(1)
	s.start(2, unittest.Behaviour{Launch: contract.StepExec, Code: 4}) // the launcher's report alone is not enough
	if _, exit := s.waitPhase(2, units.PhaseExited); exit != (contract.Exit{Code: 4}) {
		t.Errorf("a lie: got %+v", exit)
	}
	s.stop(2)
}

func testNotStarted(t *testing.T, s *stage) {
	const noUser = 217
	got, err := s.m.Start(s.ctx, units.Name(1), s.bench.Properties(1, unittest.Behaviour{NotStart: noUser}))
	var failed *units.StartError
	if !errors.As(err, &failed) || failed.JobResult != "failed" || failed.Status != got {
		t.Fatalf("Start: %v, want a StartError", err)
	}
	phase, exit := units.Decode(s.status(1))
	if phase != units.PhaseFailedToStart || exit.Launch != contract.StepUnit || !strings.Contains(exit.Detail, "user") {
		t.Fatalf("got %s %+v", phase, exit)
	}
	_, err = s.m.Start(s.ctx, units.Name(1), s.bench.Properties(1, unittest.Behaviour{}))
	s.wantErr(err, units.ErrExists)
	s.stop(1)
}

func testKill(t *testing.T, s *stage) {
	for i, c := range []struct {
		signal syscall.Signal
		active string
	}{{syscall.SIGTERM, units.ActiveActive}, {syscall.SIGINT, units.ActiveActive}, {syscall.SIGKILL,
		units.ActiveFailed}, {syscall.SIGUSR2, units.ActiveFailed}} {
		id := int64(20 + i)
		s.start(id, unittest.Behaviour{})
		s.kill(id, c.signal)
		status, exit := s.waitPhase(id, units.PhaseExited)
		if exit != (contract.Exit{Signal: int(c.signal)}) || status.Active != c.active {
			t.Errorf("%v: got %+v from %+v", c.signal, exit, status)
		}
		s.stop(id)
	}
}

// testFreeze: a frozen unit reports that it is frozen, and is stopped like any other.
func testFreeze(t *testing.T, s *stage) {
	s.wantErr(s.m.Freeze(s.ctx, units.Name(9), true), units.ErrAbsent)
	s.start(9, unittest.Behaviour{})
	for _, on := range []bool{true, true, false, false, true} {
		if err := s.m.Freeze(s.ctx, units.Name(9), on); err != nil {
			t.Fatalf("Freeze(%t): %v", on, err)
		}
		if st, err := s.m.Status(s.ctx, units.Name(9)); err != nil || st.Frozen != on {
			t.Errorf("after Freeze(%t): %+v, %v", on, st, err)
		}
	}
	s.stop(9)
	for range 5 { // a stop at once after a thaw, which systemd may not have noticed yet
		s.start(9, unittest.Behaviour{})
		for _, on := range []bool{true, false} {
			if err := s.m.Freeze(s.ctx, units.Name(9), on); err != nil {
				t.Fatalf("Freeze(%t): %v", on, err)
			}
		}
		s.stop(9)
	}
}

// testMemory: the memory limit of a running unit changes, and can be removed.
func testMemory(t *testing.T, s *stage) {
	s.wantErr(s.m.SetMemory(s.ctx, units.Name(9), 1<<30, 0), units.ErrAbsent)
	s.start(9, unittest.Behaviour{})
	for _, c := range []struct {
		limit, high   int64
		most, slowing uint64
	}{{1 << 30, 0, 1 << 30, units.Infinity}, {2 << 30, 1 << 29, 2 << 30, 1 << 29}, {0, 0, units.Infinity, units.Infinity}} {
		if err := s.m.SetMemory(s.ctx, units.Name(9), c.limit, c.high); err != nil {
			t.Fatalf("SetMemory(%d, %d): %v", c.limit, c.high, err)
		}
		if st, err := s.m.Status(s.ctx, units.Name(9)); err != nil || st.MemoryMax != c.most || st.MemoryHigh != c.slowing {
			t.Errorf("after SetMemory(%d, %d): %+v, %v", c.limit, c.high, st, err)
		}
	}
	s.stop(9)
}

func testKillNothing(_ *testing.T, s *stage) {
	s.wantErr(s.m.Kill(s.ctx, units.Name(5), int(syscall.SIGTERM), units.All), units.ErrAbsent)
	s.start(6, unittest.Behaviour{Ends: true})
	s.waitPhase(6, units.PhaseExited)
	s.kill(6, syscall.SIGTERM)
	s.start(7, unittest.Behaviour{Ends: true, Code: 1})
	s.waitPhase(7, units.PhaseExited)
	s.kill(7, syscall.SIGTERM)
	s.start(8, unittest.Behaviour{})
	s.kill(8, syscall.SIGWINCH) // does nothing
	s.phase(8, units.PhaseRunning)
}
