package systemd

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

const slice1 = "gpujobs-u1001-j1.slice"

func sliceProps() []units.Property {
	return []units.Property{
		{Name: "Slice", Value: slice1}, {Name: "DevicePolicy", Value: "closed"}, {Name: "MemoryMax", Value: uint64(7)},
	}
}

// managerIn connects a manager. In its hierarchy no slice has a process.
func (s *sliceBus) managerIn(t *testing.T) *Manager {
	t.Helper()
	m := s.manager()
	m.root = t.TempDir()
	if err := os.Mkdir(filepath.Join(m.root, "gpujobs.slice"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.root, "gpujobs.slice/cgroup.events"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return m
}

// sliceBus is a systemd that records calls about units, and answers them.
type sliceBus struct {
	*fakeBus
	said   []string        // method and unit
	there  map[string]bool // units
	policy string          // DevicePolicy of every unit
}

func newSliceBus(t *testing.T) *sliceBus {
	s := &sliceBus{there: map[string]bool{}, policy: "closed"}
	s.fakeBus = newFakeBus(t, s.answerCall)
	return s
}

func (s *sliceBus) answerCall(method string, args []any) ([]any, *dbus.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, _ := args[0].(string)
	switch method {
	case "GetUnit", "KillUnit", "StopUnit", "StartTransientUnit", "ResetFailedUnit", "SetUnitProperties":
		s.said = append(s.said, method+" "+name)
	}
	switch method {
	case "StartTransientUnit", "StopUnit":
		if !s.there[name] && method == "StopUnit" {
			return nil, noSuchUnit()
		}
		s.there[name] = method == "StartTransientUnit"
		time.AfterFunc(time.Millisecond, func() { s.jobRemoved(systemdName, name, 1, jobDone) })
		return []any{jobPath(1)}, nil
	case "GetUnit", "KillUnit", "ResetFailedUnit":
		if !s.there[name] {
			return nil, noSuchUnit()
		}
		return []any{objectPath(name)}, nil
	case "Get":
		return []any{dbus.MakeVariant(map[string]string{"DevicePolicy": s.policy, "ActiveState": units.ActiveActive,
			"ControlGroup": sliceGroup(slice1)}[args[1].(string)])}, nil
	}
	if method == "ListUnitsByPatterns" {
		var there []string
		for name, is := range s.there {
			if is && !isContainer(name) {
				there = append(there, name)
			}
		}
		return loadedUnits(there...)(method, args)
	}
	return starter(method, args)
}

func (s *sliceBus) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := s.said
	s.said = nil
	return said
}

// The slice is made, and checked, before its unit. If a slice of that name exists already, it is
// ended first. If the unit exists already, its slice is not touched. A unit without a slice needs
// one call.
func TestSliceBeforeItsUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSliceBus(t)
		m := b.managerIn(t)
		if _, err := m.Start(t.Context(), "gpujob-2.service", props("OOMPolicy")); err != nil {
			t.Fatal(err)
		}
		if got := b.take(); !slices.Equal(got, []string{"StartTransientUnit gpujob-2.service"}) {
			t.Errorf("without a slice: %v", got)
		}
		b.there[slice1] = true
		if _, err := m.Start(t.Context(), job1, sliceProps()); err != nil {
			t.Fatal(err)
		}
		want := []string{"GetUnit " + job1, "KillUnit " + slice1, "StopUnit " + slice1, "ResetFailedUnit " + slice1,
			"StartTransientUnit " + slice1, "StartTransientUnit " + job1}
		if got := b.take(); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		if _, err := m.Start(t.Context(), job1, sliceProps()); !errors.Is(err, units.ErrExists) {
			t.Errorf("a second start: %v", err)
		}
		if got := b.take(); !slices.Equal(got, []string{"GetUnit " + job1}) {
			t.Errorf("a second start: %v", got)
		}
	})
}

// A unit does not start in a slice that is without its filter.
func TestSliceWithoutFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSliceBus(t)
		b.policy = "auto"
		var refused *units.RefusedError
		if _, err := b.managerIn(t).Start(t.Context(), job1, sliceProps()); !errors.As(err, &refused) || refused.Name != slice1 {
			t.Errorf("%v", err)
		}
		if b.there[job1] {
			t.Error("the unit was started")
		}
	})
}

// A stop ends the unit before the slice. A new daemon finds the slice in the list of units.
func TestSliceAfterItsUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSliceBus(t)
		b.there[job1], b.there[slice1] = true, true
		m := b.managerIn(t)
		if _, err := m.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := m.Stop(t.Context(), job1); err != nil {
			t.Error(err)
		}
		got := b.take()
		if unit, slice := slices.Index(got, "StopUnit "+job1), slices.Index(got, "KillUnit "+slice1); unit < 0 || slice < unit {
			t.Errorf("%v", got)
		}
		if b.there[slice1] {
			t.Error("the slice is left")
		}
	})
}

// A slice whose job has no unit is ended when it is found for the second time.
func TestTidySlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSliceBus(t)
		b.there[slice1], b.there["gpujobs-u1001-j2.slice"], b.there["gpujob-2.service"] = true, true, true
		m := b.managerIn(t)
		for look, left := range []bool{true, false} {
			if _, err := m.List(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := m.Tidy(t.Context(), time.Now()); err != nil {
				t.Error(err)
			}
			if b.there[slice1] != left || !b.there["gpujobs-u1001-j2.slice"] {
				t.Errorf("look %d: %v", look, b.there)
			}
		}
	})
}

// Only scopes of Docker's containers are opened, and only when runc is done with them.
func TestContainersIn(t *testing.T) {
	root, id := t.TempDir(), strings.Repeat("0a", 32)
	mine := filepath.Join(root, sliceGroup(slice1))
	for _, name := range []string{"docker-" + id + ".scope", "docker-1.scope", "gpujob-1.service", "docker-" + strings.Repeat("g", 64) + ".scope"} {
		if err := os.MkdirAll(filepath.Join(mine, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(mine, name, "cgroup.procs"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := "docker-" + id + ".scope"
	if got := containersIn(root, slice1); !slices.Equal(got, []string{want}) {
		t.Errorf("%v", got)
	}
	if isBegun(root, slice1, want) {
		t.Error("an empty one has begun")
	}
	if got := containersIn(root, "gpujobs-u1001-j2.slice"); got != nil {
		t.Errorf("in no slice: %v", got)
	}
	synctest.Test(t, func(t *testing.T) {
		b := newSliceBus(t)
		m := b.managerIn(t)
		l, err := m.current()
		if err != nil {
			t.Fatal(err)
		}
		for _, policy := range []string{"strict", "auto"} {
			b.policy = policy
			if err := openScope(t.Context(), l, want); err != nil {
				t.Error(err)
			}
			if got := b.take(); slices.Contains(got, "SetUnitProperties "+want) != (policy == "strict") {
				t.Errorf("%s: %v", policy, got)
			}
		}
	})
}

// A failure of a job in a slice is due to Docker if Docker was stopped while the job ran.
func TestDockerEnded(t *testing.T) {
	for name, c := range map[string]struct {
		status int32
		slice  string
		left   uint64 // when docker.service was last stopped
		want   bool
	}{
		"restarted":            {125, slice1, 900, true},
		"restarted before":     {125, slice1, 400, false},
		"restarted later":      {125, slice1, 1_000 + uint64(noticeTime/time.Microsecond), false},
		"never":                {125, slice1, 0, false},
		"stopped":              {143, slice1, 900, true},
		"completed":            {0, slice1, 900, false},
		"a job without Docker": {125, "gpujobs-u1001.slice", 900, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newFakeBus(t, func(method string, args []any) ([]any, *dbus.Error) {
				switch method {
				case "GetAll":
					return loadedUnit(units.ActiveFailed, units.SubFailed, map[string]any{
						"Slice": c.slice, "ExecMainCode": units.CLDExited, "ExecMainStatus": c.status, "ExecMainStartTimestampMonotonic": uint64(500),
						"ExecMainExitTimestampMonotonic": uint64(1_000),
					}), nil
				case "Get":
					return []any{dbus.MakeVariant(c.left)}, nil
				}
				return starter(method, args)
			})
			s, err := b.manager().Status(t.Context(), job1)
			if _, e := units.Decode(s); err != nil || e.Engine != c.want {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
		})
	}
}
