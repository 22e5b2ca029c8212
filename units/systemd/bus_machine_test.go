//go:build machine

package systemd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/unittest"
)

// waitResync waits for a Resync.
func waitResync(t *testing.T, m *Manager) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case c := <-m.Changes():
			if c.Resync {
				return
			}
		case <-late:
			t.Fatal("no Resync")
		}
	}
}

// Whatever happens to the bus and to systemd itself, units survive with their results, a Resync
// arrives, and changes keep arriving.
func TestMachineUpheavals(t *testing.T) {
	for _, what := range [][]string{{"daemon-reload"}, {"daemon-reexec"}, {"restart", "dbus.service"}} {
		t.Run(what[0], func(t *testing.T) {
			m := connect(t)
			lasting := []unittest.Behaviour{{}, {Ends: true}, {Ends: true, Code: 7}, {Ends: true, Signal: 15}}
			var before []units.Status
			for i, b := range lasting {
				id := int64(i + 1)
				if _, err := m.Start(t.Context(), units.Name(id), unitProperties(id, b)); err != nil {
					t.Fatal(err)
				}
				if b.Ends {
					waitEnd(t, m, id)
				}
				s, err := m.Status(t.Context(), units.Name(id))
				if err != nil {
					t.Fatal(err)
				}
				before = append(before, s)
			}
			waitActor(t, before[0])
			system, err := m.System(t.Context())
			if err != nil || system.Run == "0" || system.Stopping {
				t.Fatalf("System: %+v, %v", system, err)
			}
			systemctl(t, what...)
			waitResync(t, m)
			after, err := m.List(t.Context())
			for errors.Is(err, units.ErrBus) { // systemd came back to the old bus for a moment
				waitResync(t, m)
				after, err = m.List(t.Context())
			}
			if err != nil || len(after) != len(before) {
				t.Fatalf("List: %+v, %v", after, err)
			}
			if now, err := m.System(t.Context()); err != nil || now != system {
				t.Errorf("System: %+v became %+v, %v", system, now, err)
			}
			for i := range before {
				before[i].CPUNSec, before[i].Age, before[i].EndAge = 0, 0, 0
				after[i].CPUNSec, after[i].Age, after[i].EndAge = 0, 0, 0
				if after[i] != before[i] {
					t.Errorf("before: %+v\nafter:  %+v", before[i], after[i])
				}
			}
			if err := m.Kill(t.Context(), units.Name(1), 9, units.All); err != nil {
				t.Fatal(err)
			}
			if e := waitEnd(t, m, 1); e != (contract.Exit{Signal: 9}) {
				t.Errorf("killed: %+v", e)
			}
			if _, err := m.Start(t.Context(), units.Name(2), unitProperties(2, unittest.Behaviour{})); !errors.Is(err, units.ErrExists) {
				t.Errorf("start again: %v", err)
			}
		})
	}
}

// While systemd keeps reloading and re-executing itself, no start is lost or made twice: after
// units.ErrBus the status shows what happened.
func TestMachineStartsInUpheaval(t *testing.T) {
	m := connect(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// More upheavals would be too many: newer versions of systemd hardly answer during upheavals.
	const count, atOnce, upheavals = 20, 4, 15
	var stop atomic.Bool
	var trouble sync.WaitGroup
	trouble.Go(func() {
		for i := 0; i < upheavals && !stop.Load(); i++ {
			systemctl(t, []string{"daemon-reload", "daemon-reexec", "daemon-reload"}[i%3])
		}
	})
	go func() { // ends with the manager
		for range m.Changes() {
		}
	}()
	var lost atomic.Int64
	var workers sync.WaitGroup
	for w := range atOnce {
		workers.Go(func() {
			for id := int64(1 + w); id <= count; id += atOnce {
				lost.Add(startOnce(ctx, t, m, id))
			}
		})
	}
	workers.Wait()
	stop.Store(true)
	trouble.Wait()
	t.Logf("%d answers lost", lost.Load())
}

// startOnce takes one unit through its life like a daemon, and returns the number of lost answers.
func startOnce(ctx context.Context, t *testing.T, m *Manager, id int64) (lost int64) {
	name := units.Name(id)
	file := sharedDir(t) + "/runs"
	if err := os.WriteFile(file+".sh", []byte("echo run >>"+file+"; exit 5"), 0o755); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Error(err)
	}
	s := spec(id, file+".sh")
	s.Launcher = "/bin/sh"
	again := func(op string, do func() error) {
		for err := do(); err != nil; err = do() {
			if !errors.Is(err, units.ErrBus) || ctx.Err() != nil {
				t.Errorf("%s %s: %v", op, name, err)
				return
			}
			lost++
			sleep(ctx, 20*time.Millisecond)
		}
	}
	again("start", func() error {
		_, err := m.Start(ctx, name, units.Properties(s))
		if errors.Is(err, units.ErrExists) {
			return nil
		}
		return err
	})
	again("follow", func() error {
		for {
			status, err := m.Status(ctx, name)
			if err != nil {
				return err
			}
			if phase, exit := units.Decode(status); phase == units.PhaseExited {
				if exit.Code != 5 {
					t.Errorf("%s: %+v from %+v", name, exit, status)
				}
				return nil
			}
			sleep(ctx, 10*time.Millisecond)
		}
	})
	again("stop", func() error { return m.Stop(ctx, name) })
	if raw, err := os.ReadFile(file); err != nil || string(raw) != "run\n" {
		t.Errorf("%s ran: %q, %v", name, raw, err)
	}
	return lost
}

// Connect waits for a bus that does not exist yet, until its context ends.
func TestMachineNoBus(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	m, err := Connect(ctx, Options{Address: "unix:path=/nowhere"})
	if err == nil {
		m.Close()
		t.Fatal("connected to nowhere")
	}
	if !errors.Is(err, units.ErrBus) || !strings.Contains(err.Error(), "no such file") || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %q, want one line that says why there is no bus", err)
	}
}

// A second manager connects only once the first one's connection is gone.
func TestMachineConnectionsFollow(t *testing.T) {
	last := filepath.Join(t.TempDir(), "connection")
	first, err := Connect(t.Context(), Options{Last: last})
	if err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if m, err := Connect(soon, Options{Last: last}); err == nil {
		m.Close()
		t.Error("it is connected beside the first")
	}
	first.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	m, err := Connect(ctx, Options{Last: last})
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
}
