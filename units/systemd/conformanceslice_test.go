package systemd

import (
	"errors"
	"slices"
	"syscall"
	"testing"

	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/unittest"
)

// testSlice: a job's own slice exists as long as its unit, also after the main process has ended. A
// stop removes both. The status of the unit is that of everything in the slice.
func testSlice(t *testing.T, s *stage) {
	const uid = 1001
	in := func(id int64, b unittest.Behaviour) []units.Property {
		props := slices.DeleteFunc(s.bench.Properties(id, b), func(p units.Property) bool { return p.Name == "Slice" })
		return append(props, units.Property{Name: "Slice", Value: units.JobSlice(uid, id)})
	}
	start := func(id int64, b unittest.Behaviour) {
		t.Helper()
		if _, err := s.m.Start(s.ctx, units.Name(id), in(id, b)); err != nil {
			t.Fatal(err)
		}
		if got := s.bench.Slices(s.m); !slices.Equal(got, []string{units.JobSlice(uid, id)}) {
			t.Errorf("with unit %d: slices %v", id, got)
		}
	}
	for id, b := range []unittest.Behaviour{{}, {Ends: true}, {Ends: true, Code: 3}} {
		id := int64(id + 1)
		start(id, b)
		if b.Ends {
			s.waitPhase(id, units.PhaseExited)
		}
		got := s.status(id)
		if want := (units.Scope{}).ControlGroup(uid, units.JobSlice(uid, id)); !b.Ends && got.ControlGroup != want || got.Spent {
			t.Errorf("unit %d: %+v", id, got)
		}
		if _, err := s.m.Start(s.ctx, units.Name(id), in(id, b)); !errors.Is(err, units.ErrExists) {
			t.Errorf("another start: %v", err)
		}
		if len(s.bench.Slices(s.m)) != 1 {
			t.Error("a refused start has ended the slice")
		}
		s.stop(id)
		if left := s.bench.Slices(s.m); len(left) > 0 {
			t.Errorf("after the stop: slices %v", left)
		}
	}
	start(9, unittest.Behaviour{})
	for _, on := range []bool{true, false} {
		if err := s.m.Freeze(s.ctx, units.Name(9), on); err != nil || s.status(9).Frozen != on {
			t.Errorf("freeze %t: %v, %+v", on, err, s.status(9))
		}
	}
	s.kill(9, syscall.SIGKILL)
	s.waitPhase(9, units.PhaseExited)
	s.stop(9)
	start(9, unittest.Behaviour{})
	s.stop(9)
}
