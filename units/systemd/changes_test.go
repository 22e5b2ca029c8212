package systemd

import (
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// A reader, however slow, is told about every unit after its last change (invariant 5). The set
// never has more names than there are units.
func TestChangesLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChanges()
		stale := map[string]bool{} // units that changed since the reader last read them
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				c.resync()
			case 1, 2, 3:
				name := units.Name(rapid.Int64Range(1, 4).Draw(t, "id"))
				c.add(name)
				stale[name] = true
			default:
				if got, ok := c.take(); ok && got.Resync {
					clear(stale)
				} else {
					delete(stale, got.Name)
				}
			}
			if len(c.order) > 4 || len(c.order) != len(c.pending) {
				t.Fatalf("%d in order, %d pending", len(c.order), len(c.pending))
			}
		}
		for got, ok := c.take(); ok; got, ok = c.take() {
			if got.Resync {
				clear(stale)
			}
			delete(stale, got.Name)
		}
		if len(stale) > 0 {
			t.Fatalf("never told of %v", stale)
		}
	})
}

// Close ends the manager's goroutines, which synctest checks, and its channel.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBus(t, starter)
		m := b.manager()
		for id := range int64(3) {
			b.unitChanged(systemdName, units.Name(id+1), units.SubExited)
		}
		m.Close()
		for range m.Changes() {
		}
		if _, err := m.Status(t.Context(), job1); err == nil {
			t.Error("Status after Close")
		}
	})
}

func FuzzUnitOfPath(f *testing.F) {
	f.Add(string(objectPath(units.Name(42))))
	f.Add(unitPath + "/a_")
	f.Add(unitPath + "/_2")
	f.Add("/other")
	f.Fuzz(func(t *testing.T, path string) {
		name, ok := unitOfPath(dbus.ObjectPath(path))
		if _, isJob := units.ParseName(name); ok && isJob {
			if again, ok := unitOfPath(objectPath(name)); !ok || again != name {
				t.Errorf("%q is %q, whose path is %q", path, name, objectPath(name))
			}
		}
	})
}

// A property that is missing or has another type counts as unknown.
func TestStatusOfOddProperties(t *testing.T) {
	odd := properties{
		"LoadState": dbus.MakeVariant(int32(1)), "Job": dbus.MakeVariant("x"), "InvocationID": dbus.MakeVariant("x"), "ExecMainCode": dbus.MakeVariant(uint64(1)),
		"CPUUsageNSec": dbus.MakeVariant("x"),
	}
	want := units.Status{Name: job1, CPUNSec: units.Infinity, MemoryPeak: units.Infinity}
	if got := odd.status(job1); got != want {
		t.Errorf("got %+v", got)
	}
	if got := (properties{}).status(job1); got != want {
		t.Errorf("nothing: got %+v", got)
	}
}
