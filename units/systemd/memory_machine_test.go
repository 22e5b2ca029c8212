//go:build machine && controllers

// These tests need a kernel that gives the machine's control groups the memory controller. A
// container has that controller only if its host does not use it.

package systemd

import (
	"testing"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units"
)

// A job that exceeds its memory ends as a whole and says why, whichever of its processes requested
// too much.
func TestControllersMemory(t *testing.T) {
	m := connect(t)
	for name, script := range map[string]string{
		"the main process":                            "exec tail /dev/zero",
		"a child, and the main process ends":          "tail /dev/zero; exit 3",
		"a child, and the main process goes":          "tail /dev/zero; exit 0",
		"a child, and the main process does not care": "tail /dev/zero & exec sleep infinity",
		"a child in a session of its own":             "setsid tail /dev/zero & exec sleep infinity",
	} {
		for id := int64(1); id <= 5; id++ {
			run(t, m, id, script, func(s *units.Spec) { s.Limits.MemBytes = 64 << 20 })
			if e := waitEnd(t, m, id); !e.OOM || e.Launch != "" {
				t.Errorf("%s: got %+v", name, e)
			}
			if err := m.Stop(t.Context(), units.Name(id)); err != nil {
				t.Error(err)
			}
		}
	}
}

// What a running job uses can be read, and the kernel has the controllers for the job's limits.
func TestControllersUsage(t *testing.T) {
	m := connect(t)
	have, err := cgroup.Controllers(cgroup.Root)
	if missing := cgroup.Missing(have); err != nil || len(missing) > 0 {
		t.Fatalf("missing controllers: %v, %v", missing, err)
	}
	run(t, m, 1, "head -c 48M /dev/zero | tail -c 40M >/dev/null; exec sleep infinity", nil)
	status, err := m.Status(t.Context(), units.Name(1))
	if err != nil {
		t.Fatal(err)
	}
	waitActor(t, status)
	s, err := cgroup.Read(cgroup.Root, status.ControlGroup)
	if err != nil || s.PeakMemBytes < 32<<20 || s.MemBytes <= 0 || s.CPU <= 0 {
		t.Errorf("got %+v, %v", s, err)
	}
}
