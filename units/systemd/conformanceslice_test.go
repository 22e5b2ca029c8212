package systemd

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
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
	for range 5 { // a stop at once after a thaw, which systemd may not have noticed yet
		start(9, unittest.Behaviour{})
		for _, on := range []bool{true, false} {
			if err := s.m.Freeze(s.ctx, units.Name(9), on); err != nil {
				t.Fatalf("Freeze(%t): %v", on, err)
			}
		}
		s.stop(9)
	}
}

// testDevices: devices of a running unit, or of its slice, are closed and opened. The others stay open.
func testDevices(t *testing.T, s *stage) {
	own, ctl := cgroup.GPU(1), cgroup.Device{Major: contract.NvidiaMajor, Minor: contract.CtlMinor}
	s.wantErr(s.m.AllowDevices(s.ctx, units.Name(9), []cgroup.Device{own}, true), units.ErrAbsent)
	for i, slice := range []string{"", units.JobSlice(1001, 2)} {
		id, access := int64(i+1), []string{"rw", "rwm"}[i]
		props := slices.DeleteFunc(s.bench.Properties(id, unittest.Behaviour{}), func(p units.Property) bool {
			return p.Name == "DevicePolicy" || p.Name == "DeviceAllow" || p.Name == "Slice" && slice != ""
		})
		both := []units.DeviceAllow{{Path: ctl.Path(), Access: access}, {Path: own.Path(), Access: access}}
		props = append(props, units.Property{Name: "DevicePolicy", Value: "closed"}, units.Property{Name: "DeviceAllow", Value: both})
		if slice != "" {
			props = append(props, units.Property{Name: "Slice", Value: slice})
		}
		if _, err := s.m.Start(s.ctx, units.Name(id), props); err != nil {
			t.Fatal(err)
		}
		for _, open := range []bool{false, false, true, true, false} {
			want := both
			if !open {
				want = both[:1]
			}
			err := s.m.AllowDevices(s.ctx, units.Name(id), []cgroup.Device{own}, open)
			has := s.bench.Devices(s.m, units.Name(id), slice)
			slices.SortFunc(has, func(a, b units.DeviceAllow) int { return strings.Compare(b.Path, a.Path) })
			if err != nil || !slices.Equal(has, want) {
				t.Errorf("AllowDevices(%t) in slice %q: %v, it has %v", open, slice, err, has)
			}
		}
		s.stop(id)
	}
}
