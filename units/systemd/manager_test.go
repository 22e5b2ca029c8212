package systemd

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

var job1 = units.Name(1)

func props(names ...string) []units.Property {
	var list []units.Property
	for _, n := range names {
		list = append(list, units.Property{Name: n, Value: true})
	}
	return list
}

// starter answers a start, and never reports the end of its systemd job.
func starter(method string, _ []any) ([]any, *dbus.Error) {
	switch method {
	case "StartTransientUnit":
		return []any{jobPath(1)}, nil
	case "GetAll":
		return loadedUnit(units.ActiveActive, units.SubRunning, nil), nil
	case "Get":
		return []any{dbus.MakeVariant(units.ActiveActivating)}, nil
	case "GetUnit":
		return []any{objectPath(job1)}, nil
	case "GetJob":
		return []any{jobPath(1)}, nil
	}
	return nil, noSuchUnit()
}

// Signals count only if systemd sent them. Anybody may send us similar signals (invariant 2).
func TestForgedSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBus(t, starter)
		m := b.manager()
		started := make(chan error, 1)
		go func() { _, err := m.Start(t.Context(), job1, props("OOMPolicy")); started <- err }()
		synctest.Wait()
		b.jobRemoved(strangeName, job1, 1, "failed")
		b.unitChanged(strangeName, job1, units.SubExited)
		b.emit(strangeName, managerPath, managerIface, "Reloading", false)
		b.emit(strangeName, "/org/freedesktop/DBus", busIface, "NameOwnerChanged", destination, systemdName, strangeName)
		synctest.Wait()
		select {
		case err := <-started:
			t.Fatalf("a forged signal ended the start: %v", err)
		case c := <-m.Changes():
			t.Fatalf("a forged signal was told: %+v", c)
		default:
		}
		b.jobRemoved(systemdName, job1, 1, "done")
		if err := <-started; err != nil {
			t.Fatal(err)
		}
		b.unitChanged(systemdName, job1, units.SubExited)
		if c := <-m.Changes(); c.Name != job1 {
			t.Fatalf("told %+v", c)
		}
	})
}

// A signal about a unit that is not a job's, or about a job that is starting, causes no change.
func TestSignalsOfNoInterest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBus(t, starter)
		m := b.manager()
		b.unitChanged(systemdName, "dbus.service", units.SubExited)
		b.jobRemoved(systemdName, "gpujobs-u1.slice", 1, "done")
		b.unitChanged(systemdName, job1, units.SubStart)
		b.unitChanged(systemdName, job1, units.SubRunning)
		b.unitChanged(systemdName, units.Name(2), units.SubFailed)
		if c := <-m.Changes(); c.Name != units.Name(2) {
			t.Errorf("told %+v", c)
		}
	})
}

// The end of a systemd job is found even if its signal was lost.
func TestLostJobSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Bool
		b := newFakeBus(t, func(method string, args []any) ([]any, *dbus.Error) {
			if method == "GetJob" && gone.Load() {
				return nil, &dbus.Error{Name: errNoSuchJob}
			}
			return starter(method, args)
		})
		m := b.manager()
		time.AfterFunc(10*pollEvery, func() { gone.Store(true) })
		begin := time.Now()
		status, err := m.Start(t.Context(), job1, props("OOMPolicy"))
		if phase, _ := units.Decode(status); err != nil || phase != units.PhaseRunning {
			t.Fatalf("got %+v, %v", status, err)
		}
		if took := time.Since(begin); took > 12*pollEvery {
			t.Errorf("took %v", took)
		}
	})
}

// If a main process sends STOPPING=1 before systemd has seen its start, the systemd job of the
// start stays until the process ends. The start has succeeded all the same, and the unit runs.
func TestStartOfAUnitThatStops(t *testing.T) {
	for _, told := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			stops := loadedUnit(units.ActiveDeactivating, "stop-sigterm", map[string]any{"MainPID": uint32(77), "ActiveEnterTimestampMonotonic": uint64(0)})
			b := newFakeBus(t, func(method string, args []any) ([]any, *dbus.Error) {
				switch method {
				case "GetAll":
					return stops, nil
				case "Get":
					return []any{dbus.MakeVariant(units.ActiveDeactivating)}, nil
				}
				return starter(method, args)
			})
			m := b.manager()
			begin := time.Now()
			if told {
				time.AfterFunc(time.Millisecond, func() {
					b.emit(systemdName, string(objectPath(job1)), propertyIface, "PropertiesChanged", unitIface,
						map[string]dbus.Variant{"ActiveState": dbus.MakeVariant(units.ActiveDeactivating), "SubState": dbus.MakeVariant("stop-sigterm")}, []string{})
				})
			}
			status, err := m.Start(t.Context(), job1, nil)
			if phase, _ := units.Decode(status); err != nil || phase != units.PhaseRunning {
				t.Errorf("got %+v, %v", status, err)
			}
			if took := time.Since(begin); took > pollEvery || told && took > time.Millisecond {
				t.Errorf("told %v: took %v", told, took)
			}
		})
	}
}

// Without the bus a call fails at once. The bus is found again without a call, and a Resync follows
// (invariants 3 and 4).
func TestBusLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBus(t, starter)
		m := b.manager()
		started := make(chan error, 1)
		go func() { _, err := m.Start(t.Context(), job1, props("OOMPolicy")); started <- err }()
		synctest.Wait()
		b.setDown(true)
		b.cut()
		if err := <-started; !errors.Is(err, units.ErrBus) {
			t.Errorf("the start under way: %v", err)
		}
		synctest.Wait()
		lost := time.Now()
		time.Sleep(time.Hour)
		ok, since, last := m.Connected()
		if ok || last == nil || since.After(lost) {
			t.Errorf("connected %v since %v (lost at %v), %v", ok, since, lost, last)
		}
		if _, err := m.Status(t.Context(), job1); !errors.Is(err, units.ErrBus) {
			t.Errorf("Status without a bus: %v", err)
		}
		b.setDown(false)
		back := time.Now()
		if c := <-m.Changes(); !c.Resync {
			t.Errorf("told %+v", c)
		}
		if took := time.Since(back); took > lastRetry {
			t.Errorf("came back after %v", took)
		}
		if ok, since, _ := m.Connected(); !ok || since.Before(back) {
			t.Errorf("connected %v since %v", ok, since)
		}
		if _, err := m.Status(t.Context(), job1); err != nil {
			t.Error(err)
		}
	})
}

// A bus that never answers delays nobody longer than the context.
func TestSilentBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBus(t, func(string, []any) ([]any, *dbus.Error) { return nil, errNoReply })
		m := b.manager()
		for op, call := range map[string]func(context.Context) error{
			"Start":  func(ctx context.Context) error { _, err := m.Start(ctx, job1, nil); return err },
			"Stop":   func(ctx context.Context) error { return m.Stop(ctx, job1) },
			"Kill":   func(ctx context.Context) error { return m.Kill(ctx, job1, 9, units.All) },
			"Status": func(ctx context.Context) error { _, err := m.Status(ctx, job1); return err },
			"List":   func(ctx context.Context) error { _, err := m.List(ctx); return err },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			begin := time.Now()
			if err := call(ctx); !errors.Is(err, units.ErrBus) || !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
				t.Errorf("%s: %v after %v", op, err, time.Since(begin))
			}
			cancel()
		}
	})
}

// After systemd was re-executed, it has another name on the bus and no subscribers.
func TestNewOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBus(t, starter)
		m := b.manager()
		const renewed = ":1.2"
		b.emit(busIface, "/org/freedesktop/DBus", busIface, "NameOwnerChanged", destination, systemdName, "")
		b.emit(busIface, "/org/freedesktop/DBus", busIface, "NameOwnerChanged", destination, "", renewed)
		if c := <-m.Changes(); !c.Resync {
			t.Errorf("told %+v", c)
		}
		for _, method := range []string{"Subscribe", "Ref"} {
			if n := b.countCalls(method); n != 2 {
				t.Errorf("%s was called %d times", method, n)
			}
		}
		b.unitChanged(systemdName, units.Name(1), units.SubExited)
		b.unitChanged(renewed, units.Name(2), units.SubExited)
		if c := <-m.Changes(); c.Name != units.Name(2) {
			t.Errorf("told %+v", c)
		}
	})
}

// A property that an older systemd does not know is left out from then on, if the unit can do
// without it; otherwise the start is refused (invariant 7).
func TestUnknownProperties(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unknown := []string{"OOMPolicy", "LogExtraFields", "CPUAccounting"}
		var b *fakeBus
		b = newFakeBus(t, func(method string, args []any) ([]any, *dbus.Error) {
			if method != "StartTransientUnit" {
				return starter(method, args)
			}
			for _, p := range args[2].([][]any) {
				if name := p[0].(string); slices.Contains(unknown, name) {
					return nil, &dbus.Error{Name: errPropReadOnly, Body: []any{"Cannot set property " + name + ", or unknown property."}}
				}
			}
			time.AfterFunc(time.Millisecond, func() { b.jobRemoved(systemdName, job1, 1, "done") })
			return []any{jobPath(1)}, nil
		})
		m := b.manager()
		list := props("DevicePolicy", "OOMPolicy", "MemoryMax", "LogExtraFields", "CPUAccounting")
		for _, tries := range []int{4, 5} {
			if _, err := m.Start(t.Context(), job1, list); err != nil {
				t.Fatal(err)
			}
			if n := b.countCalls("StartTransientUnit"); n != tries {
				t.Errorf("%d tries so far, want %d", n, tries)
			}
		}
		if d := m.Degraded(); !slices.Equal(d, []string{"CPUAccounting", "LogExtraFields", "OOMPolicy"}) {
			t.Errorf("degraded: %v", d)
		}
		unknown = append(unknown, "DevicePolicy")
		var refused *units.RefusedError
		if _, err := m.Start(t.Context(), job1, list); !errors.As(err, &refused) || refused.Code != errPropReadOnly {
			t.Errorf("without a device filter: %v", err)
		}
	})
}

// For each answer of systemd to a start, Start returns the right error.
func TestStartErrors(t *testing.T) {
	var refused *units.RefusedError
	for code, is := range map[string]func(error) bool{
		errUnitExists:                                  func(err error) bool { return errors.Is(err, units.ErrExists) },
		"org.freedesktop.DBus.Error.NoReply":           func(err error) bool { return errors.Is(err, units.ErrBus) },
		"org.freedesktop.systemd1.ShuttingDown":        func(err error) bool { return errors.Is(err, units.ErrNotNow) },
		errDestructive:                                 func(err error) bool { return errors.Is(err, units.ErrNotNow) && !errors.As(err, &refused) },
		errConflicting:                                 func(err error) bool { return errors.Is(err, units.ErrNotNow) && !errors.As(err, &refused) },
		"org.freedesktop.DBus.Error.Spawn.ChildExited": func(err error) bool { return errors.Is(err, units.ErrBus) },
		"org.freedesktop.DBus.Error.InvalidArgs":       func(err error) bool { return errors.As(err, &refused) && !errors.Is(err, units.ErrBus) },
		"System.Error.E2BIG":                           func(err error) bool { return errors.As(err, &refused) },
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newFakeBus(t, func(string, []any) ([]any, *dbus.Error) { return nil, &dbus.Error{Name: code, Body: []any{"why"}} })
			if _, err := b.manager().Start(t.Context(), job1, nil); !is(err) {
				t.Errorf("%s: %v", code, err)
			}
		})
	}
}
