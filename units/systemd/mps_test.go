package systemd

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
)

// The first unit that requires another one makes both in one call. The others find that unit there.
func TestStartWithAnAuxiliary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSliceBus(t)
		var made []string
		b.fakeBus.answer = func(method string, args []any) ([]any, *dbus.Error) {
			if method == "StartTransientUnit" {
				for _, unit := range args[3].([][]any) {
					made = append(made, unit[0].(string))
					b.mu.Lock()
					b.there[unit[0].(string)] = true
					b.mu.Unlock()
				}
			}
			return b.answerCall(method, args)
		}
		m := b.managerIn(t)
		const server = "gpusched-mps-1001-0.service"
		spec := units.Spec{ID: 1, UID: 1001, MPS: true, GPUs: []contract.GPU{{Index: 0, UUID: "GPU-a"}}}
		for id := range int64(2) {
			spec.ID = id + 1
			if _, err := m.Start(t.Context(), units.Name(spec.ID), units.Properties(spec)); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(made, []string{server}) {
			t.Errorf("made %v", made)
		}
		if got := b.take(); !slices.Equal(got, []string{"GetUnit " + server, "StartTransientUnit gpujob-1.service", "GetUnit " + server, "StartTransientUnit gpujob-2.service"}) {
			t.Errorf("%v", got)
		}
		if _, err := m.Start(t.Context(), server, nil); err == nil || errors.Is(err, units.ErrBus) {
			t.Errorf("a start of the server itself: %v", err)
		}
	})
}
