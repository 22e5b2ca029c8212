package systemd

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// Stop returns nil only when systemd has dropped the unit (invariant 6).
func TestStopLooksAtWhatIsLeft(t *testing.T) {
	for _, c := range []struct {
		name  string
		left  []any // answer of GetAll after the stop of the unit
		still int   // lookups in which the unit still exists
		want  string
	}{
		{"forgotten", nil, 0, ""},
		{"forgotten a little later", nil, 2, ""},
		{"processes", loadedUnit(units.ActiveInactive, units.SubDead, map[string]any{"ControlGroup": "/gpujobs.slice/x"}), 1000, units.ErrProcesses.Error()},
		{"kept by somebody", loadedUnit(units.ActiveInactive, units.SubDead, nil), 1000, "systemd keeps it"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var b *fakeBus
			still := c.still
			b = newFakeBus(t, func(method string, _ []any) ([]any, *dbus.Error) {
				switch method {
				case "StopUnit":
					time.AfterFunc(time.Millisecond, func() { b.jobRemoved(systemdName, job1, 1, "done") })
					return []any{jobPath(1)}, nil
				case "ResetFailedUnit":
					return nil, nil
				case "GetUnit":
					if still--; still >= 0 {
						return []any{objectPath(job1)}, nil
					}
				case "GetAll":
					return c.left, nil
				}
				return nil, noSuchUnit()
			})
			err := b.manager().Stop(t.Context(), job1)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: got %v, want %q", c.name, err, c.want)
			}
			if strings.Contains(c.want, "processes") != errors.Is(err, units.ErrProcesses) {
				t.Errorf("%s: got %v", c.name, err)
			}
		})
	}
}

// Processes that survive even our SIGKILL are reported. We do not wait until systemd gives up,
// which would take the job's grace time again.
func TestStopGivesUpAfterSIGKILL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const grace = 10 * time.Minute
		begin := time.Now()
		b := newFakeBus(t, func(method string, _ []any) ([]any, *dbus.Error) {
			switch method {
			case "StopUnit", "GetJob":
				return []any{jobPath(1)}, nil
			case "Get":
				return []any{dbus.MakeVariant(uint64(grace / time.Microsecond))}, nil
			case "KillUnit":
				return nil, nil
			}
			return nil, noSuchUnit()
		})
		if err := b.manager().Stop(t.Context(), job1); !errors.Is(err, units.ErrProcesses) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begin); took > grace+time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

// A stop that exceeds the unit's grace is ended by our own SIGKILL, which is not sent before.
func TestStopKillsAfterGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const grace = 90 * time.Second
		var b *fakeBus
		begin := time.Now()
		var killed time.Duration
		b = newFakeBus(t, func(method string, args []any) ([]any, *dbus.Error) {
			switch method {
			case "StopUnit", "GetJob":
				return []any{jobPath(1)}, nil
			case "Get":
				return []any{dbus.MakeVariant(uint64(grace / time.Microsecond))}, nil
			case "KillUnit":
				if args[1] != "all" || args[2] != int32(9) {
					t.Errorf("kill %v", args)
				}
				killed = time.Since(begin)
				time.AfterFunc(time.Millisecond, func() { b.jobRemoved(systemdName, job1, 1, "done") })
				return nil, nil
			}
			return nil, noSuchUnit()
		})
		if err := b.manager().Stop(t.Context(), job1); err != nil {
			t.Fatal(err)
		}
		if killed < grace+stopSlack || killed > grace+stopSlack+stopPatience {
			t.Errorf("killed after %v", killed)
		}
	})
}

// However many units are stopped at once, the bus never owes us more answers than it allows, and
// all units are stopped.
func TestManyStopsAtOnce(t *testing.T) {
	const stops = 300
	synctest.Test(t, func(t *testing.T) {
		var b *fakeBus
		var owed, most, made atomic.Int64
		b = newFakeBus(t, func(method string, args []any) ([]any, *dbus.Error) {
			if method != "StopUnit" {
				return nil, noSuchUnit()
			}
			made.Add(1)
			most.Store(max(most.Load(), owed.Add(1)))
			time.Sleep(10 * time.Millisecond)
			owed.Add(-1)
			unit := args[0].(string)
			time.AfterFunc(time.Millisecond, func() { b.jobRemoved(systemdName, unit, 1, "done") })
			return []any{jobPath(1)}, nil
		})
		m := b.manager()
		var all sync.WaitGroup
		for i := range stops {
			all.Go(func() {
				if err := m.Stop(t.Context(), units.Name(int64(i+1))); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if made.Load() != stops || most.Load() > callsAtOnce || callsAtOnce > 128 {
			t.Errorf("%d of %d stops are made, and %d answers are owed at once", made.Load(), stops, most.Load())
		}
	})
}
