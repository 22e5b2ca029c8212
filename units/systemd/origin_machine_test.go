//go:build machine

package systemd

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/unittest"
)

// The real systemd returns the properties with which a unit was started, even after reading the
// unit's transient files again.
func TestOrigin(t *testing.T) {
	m := connect(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	made := spec(7, actorArgument(unittest.Behaviour{}))
	made.GPUs = append(made.GPUs, contract.GPU{Index: 3, Minor: 2, UUID: "GPU-2222", Milli: 250, PromiseBytes: 1 << 33})
	if _, err := m.Start(ctx, units.Name(7), units.Properties(made)); err != nil {
		t.Fatal(err)
	}
	want := made
	want.Launcher, want.SpecPath = "", ""
	want.Rlimits, want.Limits.TasksMax = nil, 0
	for _, after := range []string{"its start", "a reload"} {
		o, err := m.Origin(ctx, units.Name(7))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := o.Spec(units.Name(7)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("after %s: %v\ngot  %+v\nwant %+v", after, err, got, want)
		}
		systemctl(t, "daemon-reload")
	}
	if _, err := m.Origin(ctx, units.Name(8)); !errors.Is(err, units.ErrAbsent) {
		t.Errorf("of no unit: %v", err)
	}
}
