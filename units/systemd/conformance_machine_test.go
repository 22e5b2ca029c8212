//go:build machine

// These tests run as root on a machine whose PID 1 is systemd, from a test binary that every
// account may execute.

package systemd

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/unittest"
)

const (
	alice  = 1001
	nobody = 54321 // no such account
)

func TestMachineConformance(t *testing.T) {
	conformance(t, bench{
		New:        func(t *testing.T) testedManager { return connect(t) },
		Properties: unitProperties,
		Settled:    func(s units.Status) { waitActor(t, s) },
		Processes:  func(_ testedManager, s units.Status) int { return countProcesses(t, s) },
		Devices: func(m testedManager, unit, slice string) (list []units.DeviceAllow) {
			iface := map[bool]string{true: serviceIface, false: sliceIface}[slice == ""]
			l, err := m.(*Manager).current()
			if err != nil {
				t.Fatal(err)
			}
			p, err := l.properties(t.Context(), objectPath(cmp.Or(slice, unit)), iface, "DeviceAllow")
			if err = errors.Join(err, p["DeviceAllow"].Store(&list)); err != nil {
				t.Fatal(err)
			}
			return list
		},
		Slices: func(testedManager) []string {
			found, err := filepath.Glob("/sys/fs/cgroup/gpujobs.slice/gpujobs-u*.slice/gpujobs-u*-j*.slice")
			if err != nil {
				t.Error(err)
			}
			for i := range found {
				found[i] = filepath.Base(found[i])
			}
			return found
		},
	})
}

// connect returns a manager. Before and after the test there is no unit of a job.
func connect(t *testing.T) *Manager {
	t.Helper()
	dialing, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	m, err := Connect(dialing, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := clearAway(m); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer m.Close()
		if err := clearAway(m); err != nil {
			t.Error(err)
		}
		if d := m.Degraded(); len(d) > 0 {
			t.Errorf("properties unknown to this systemd: %v", d)
		}
	})
	return m
}

// clearAway stops every unit of a job. If there is no bus, it waits for one.
func clearAway(m *Manager) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		all, err := m.List(ctx)
		for _, s := range all {
			err = errors.Join(err, m.Stop(ctx, s.Name))
		}
		if !errors.Is(err, units.ErrBus) || ctx.Err() != nil {
			return err
		}
		sleep(ctx, 20*time.Millisecond)
	}
}

func spec(id int64, arg string) units.Spec {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return units.Spec{
		ID: id, Attempt: 1, UID: alice, User: "alice", JobName: "a name with % and $HOME and \"quotes\"",
		GPUs:      []contract.GPU{{Index: 0, Minor: 1, UUID: "GPU-1111"}},
		Limits:    cgroup.Limits{MemBytes: 1 << 30, TasksMax: 512, CPUs: 2},
		Rlimits:   []contract.Limit{{Name: "NOFILE", Soft: 1024, Hard: 4096}, {Name: "MEMLOCK", Soft: units.Infinity, Hard: units.Infinity}},
		TimeLimit: time.Hour, Grace: 200 * time.Millisecond, Launcher: self, SpecPath: arg,
	}
}

func unitProperties(id int64, b unittest.Behaviour) []units.Property {
	s := spec(id, actorArgument(b))
	if b.NotStart != 0 {
		s.UID = nobody
	}
	p := units.Properties(s)
	if b.TimesOut { // as a drop-in of the site might set it
		p = append(p, units.Property{Name: "RuntimeMaxUSec", Value: uint64(100_000)})
	}
	return p
}

// waitActor waits until the actor has become a sleep. Before that, a signal would reach the Go
// runtime, or a shell that has not set its traps.
func waitActor(t *testing.T, s units.Status) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for late := time.After(2 * time.Minute); ; {
		for _, pid := range strings.Fields(members(t, s)) {
			name, err := os.ReadFile(filepath.Join("/proc", pid, "comm"))
			if err == nil && string(name) == "sleep\n" {
				return
			}
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("unit never settled: %+v", s)
		}
	}
}

// countProcesses counts the processes in the control group.
func countProcesses(t *testing.T, s units.Status) int { return strings.Count(members(t, s), "\n") }

func members(t *testing.T, s units.Status) string {
	raw, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", s.ControlGroup, "cgroup.procs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) && !strings.Contains(err.Error(), "no such device") {
		t.Error(err)
	}
	return string(raw)
}
