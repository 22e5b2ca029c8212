package unittest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
)

var one = units.Name(1)

func start(t *testing.T, s *Systemd, name string) {
	t.Helper()
	if _, err := s.Start(t.Context(), name, nil); err != nil {
		t.Fatal(err)
	}
}

// After a lost answer, the start has happened. After a lost call, it has not. The caller can
// distinguish the two only by reading the status.
func TestLostStarts(t *testing.T) {
	s := New(Options{})
	s.FailNext(OpStart, LostCall(), LostAnswer())
	for i, there := range []bool{false, true} {
		if _, err := s.Start(t.Context(), one, nil); !errors.Is(err, units.ErrBus) {
			t.Errorf("start %d: %v", i, err)
		}
		if s.Running(one) != there {
			t.Errorf("start %d: running %v", i, !there)
		}
	}
	if _, err := s.Start(t.Context(), one, nil); !errors.Is(err, units.ErrExists) || s.Started(one) != 1 {
		t.Errorf("third start: %v, started %d times", err, s.Started(one))
	}
	s.FailNext(OpStop, LostAnswer())
	if err := s.Stop(t.Context(), one); !errors.Is(err, units.ErrBus) || len(s.Names()) != 0 {
		t.Errorf("lost answer of a stop: %v, left %v", err, s.Names())
	}
}

// A held operation ends when it is released, with or without its caller.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		s.Hold(OpStart, one)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Start(ctx, one, nil); !errors.Is(err, units.ErrBus) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("held start: %v", err)
		}
		if got, _ := s.Status(t.Context(), one); phase(got) != units.PhaseStarting {
			t.Errorf("while held: %+v", got)
		}
		s.Release(OpStart, one)
		if !s.Running(one) {
			t.Error("not running after the release")
		}
		s.Hold(OpStop, one)
		stopped := make(chan error, 2)
		for range 2 {
			go func() { stopped <- s.Stop(t.Context(), one) }()
		}
		synctest.Wait()
		if got, _ := s.Status(t.Context(), one); phase(got) != units.PhaseRunning || got.Active != units.ActiveDeactivating || len(stopped) != 0 {
			t.Errorf("while stopping: %+v", got)
		}
		s.Release(OpStop, one)
		if err := errors.Join(<-stopped, <-stopped); err != nil || len(s.Names()) != 0 {
			t.Errorf("stops: %v, left %v", err, s.Names())
		}
	})
}

func phase(s units.Status) units.Phase {
	p, _ := units.Decode(s)
	return p
}

// A reboot removes all units and everything about them.
func TestReboot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		start(t, s, one)
		s.Hold(OpStart, units.Name(2))
		hung := make(chan error, 1)
		go func() { _, err := s.Start(t.Context(), units.Name(2), nil); hung <- err }()
		synctest.Wait()
		s.Disconnect()
		s.Reboot()
		if err := <-hung; !errors.Is(err, units.ErrBus) {
			t.Errorf("a start over a reboot: %v", err)
		}
		if all, err := s.List(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("after the reboot: %v, %v", all, err)
		}
		start(t, s, one)
		if s.Started(one) != 2 {
			t.Errorf("started %d times in all", s.Started(one))
		}
	})
}

// Without a bus no signal arrives. A Resync follows when the bus is back.
func TestSignals(t *testing.T) {
	s := New(Options{})
	heard := func() (names []string) {
		for {
			select {
			case c := <-s.Changes():
				names = append(names, c.Name)
			default:
				return names
			}
		}
	}
	start(t, s, one)
	heard()
	s.Exit(one, 0)
	if got := heard(); !slices.Equal(got, []string{one}) {
		t.Errorf("an exit: %v", got)
	}
	s.Disconnect()
	s.Signal(one)
	if _, err := s.Status(t.Context(), one); !errors.Is(err, units.ErrBus) {
		t.Errorf("without a bus: %v", err)
	}
	s.Reconnect()
	if c := <-s.Changes(); !c.Resync || len(heard()) != 0 {
		t.Errorf("after the bus came back: %+v", c)
	}
}

// Processes that outlive a stop keep their unit until they are gone.
func TestKeepProcesses(t *testing.T) {
	s := New(Options{Behave: func(string, []units.Property) Behaviour { return Behaviour{Stopping: true} }})
	start(t, s, one)
	s.KeepProcesses(one, true)
	for range 2 {
		if err := s.Stop(t.Context(), one); !errors.Is(err, units.ErrProcesses) {
			t.Errorf("Stop: %v", err)
		}
	}
	if _, err := s.Start(t.Context(), one, nil); !errors.Is(err, units.ErrExists) {
		t.Errorf("Start: %v", err)
	}
	if s, err := s.Status(t.Context(), one); err != nil || s.JobPending {
		t.Errorf("after the stop it is %+v, %v", s, err)
	}
	s.KeepProcesses(one, false)
	if err := s.Stop(t.Context(), one); err != nil {
		t.Errorf("Stop: %v", err)
	}
}

// A unit's status shows how the test ended it.
func TestDrive(t *testing.T) {
	for name, c := range map[string]struct {
		drive func(*Systemd)
		want  contract.Exit
	}{
		"exit":    {func(s *Systemd) { s.Exit(one, 7) }, contract.Exit{Code: 7}},
		"signal":  {func(s *Systemd) { s.KillBy(one, 11) }, contract.Exit{Signal: 11}},
		"memory":  {func(s *Systemd) { s.OOM(one) }, contract.Exit{Signal: 9, OOM: true}},
		"time":    {func(s *Systemd) { s.Timeout(one) }, contract.Exit{Signal: 15, Stopped: true}},
		"ordered": {func(s *Systemd) { _ = s.Kill(context.Background(), one, 15, units.All) }, contract.Exit{Signal: 15}},
	} {
		s := New(Options{})
		start(t, s, one)
		c.drive(s)
		status, err := s.Status(t.Context(), one)
		if p, exit := units.Decode(status); err != nil || p != units.PhaseExited || exit != c.want {
			t.Errorf("%s: %s %+v, %v, want %+v", name, p, exit, err, c.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("driving nothing went well")
		}
	}()
	New(Options{}).Exit(one, 0)
}
