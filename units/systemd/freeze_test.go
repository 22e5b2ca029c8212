package systemd

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// Processes that never freeze, in however many units, delay no start, status or end of other units
// while the freezes are under way or afterwards (invariant 9).
func TestFreezeThatNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 200
		var b *fakeBus
		b = newFakeBus(t, func(method string, args []any) ([]any, *dbus.Error) {
			switch method {
			case "FreezeUnit", "ThawUnit":
				return nil, errNoReply
			case "StartTransientUnit":
				time.AfterFunc(time.Millisecond, func() { b.jobRemoved(systemdName, args[0].(string), 1, jobDone) })
			case "GetAll":
				return loadedUnit(units.ActiveActive, units.SubRunning, map[string]any{"FreezerState": "freezing"}), nil
			}
			return starter(method, args)
		})
		m := b.manager()
		for _, on := range []bool{true, true, false} {
			var all sync.WaitGroup
			for id := range int64(many) {
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					defer cancel()
					if err := m.Freeze(ctx, units.Name(2+id), on); on != (err == nil) || errors.Is(err, units.ErrBus) {
						t.Errorf("freeze %t of unit %d: %v", on, 2+id, err)
					}
				})
			}
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := m.Start(ctx, job1, nil); err != nil {
				t.Errorf("start of another unit beside freezes (%t): %v", on, err)
			}
			cancel()
			all.Wait()
			if t.Failed() {
				return
			}
		}
	})
}

// A freeze that systemd refuses for the moment is requested again. If systemd keeps refusing, that
// is an error.
func TestFreezeThatIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		on     bool
		states []string // FreezerState after each request; the last one stays
		sub    string
		orders int
		ok     bool
	}{
		{"frozen", true, []string{"frozen"}, units.SubRunning, 1, true},
		{"begun", true, []string{"freezing"}, units.SubRunning, 1, true},
		{"let go on", false, []string{"thawing"}, units.SubRunning, 1, true},
		{"the freeze before", false, []string{"freezing", "frozen", "running"}, units.SubRunning, 3, true},
		{"the thaw before", true, []string{"thawing", "frozen"}, units.SubRunning, 2, true},
		{"no freezer", true, []string{"running"}, units.SubRunning, freezeTries, false},
		{"frozen by its slice", false, []string{"frozen-by-parent"}, units.SubRunning, freezeTries, false},
		{"it has ended", true, []string{"running"}, units.SubExited, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				orders := 0
				b := newFakeBus(t, func(method string, args []any) ([]any, *dbus.Error) {
					mu.Lock()
					defer mu.Unlock()
					switch method {
					case "FreezeUnit", "ThawUnit":
						orders++
						return nil, errNoReply
					case "GetAll":
						state := c.states[min(max(orders, 1), len(c.states))-1]
						return loadedUnit(units.ActiveActive, c.sub, map[string]any{"FreezerState": state}), nil
					}
					return starter(method, args)
				})
				err := b.manager().Freeze(t.Context(), job1, c.on)
				if (err == nil) != c.ok || errors.Is(err, units.ErrBus) || errors.Is(err, units.ErrAbsent) || orders != c.orders {
					t.Errorf("%d orders: %v", orders, err)
				}
			})
		})
	}
}

// Freezing fails with the matching error if the unit is missing or the connection is broken.
func TestFreezeOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBus(t, func(string, []any) ([]any, *dbus.Error) { return nil, noSuchUnit() })
		m := b.manager()
		if err := m.Freeze(t.Context(), job1, true); !errors.Is(err, units.ErrAbsent) {
			t.Errorf("absent: %v", err)
		}
		b.setDown(true)
		b.cut()
		if err := m.Freeze(t.Context(), job1, true); !errors.Is(err, units.ErrBus) {
			t.Errorf("without a bus: %v", err)
		}
		if !slices.Contains(b.calls, "FreezeUnit") {
			t.Errorf("calls: %v", b.calls)
		}
	})
}
