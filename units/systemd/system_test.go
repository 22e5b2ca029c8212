package systemd

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// System returns systemd's start by the kernel's clock, and whether it is shutting down.
func TestSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := "degraded"
		b := newFakeBus(t, func(method string, args []any) ([]any, *dbus.Error) {
			switch {
			case method == "Get" && args[1] == "SystemState":
				return []any{dbus.MakeVariant(state)}, nil
			case method == "Get" && args[1] == "UserspaceTimestampMonotonic":
				return []any{dbus.MakeVariant(uint64(1234567))}, nil
			}
			return nil, noSuchUnit()
		})
		m := b.manager()
		for _, stopping := range []bool{false, true} {
			if got, err := m.System(t.Context()); err != nil || got != (units.System{Run: "1234567", Stopping: stopping}) {
				t.Errorf("in state %s: %+v, %v", state, got, err)
			}
			state = "stopping"
		}
		b.setDown(true)
		b.cut()
		synctest.Wait()
		if _, err := m.System(t.Context()); !errors.Is(err, units.ErrBus) {
			t.Errorf("without a bus: %v", err)
		}
	})
}
