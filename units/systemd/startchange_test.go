package systemd

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// If a unit is running when its start has ended, the unit is not read, because systemd's signals
// said everything. Any other unit is read, and so is a unit whose signal was incomplete.
func TestStartReadsNoUnitThatRuns(t *testing.T) {
	id := []byte{0xab, 0xcd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}
	running := map[string]dbus.Variant{
		"ActiveState": dbus.MakeVariant(units.ActiveActive), "SubState": dbus.MakeVariant(units.SubRunning),
		"InvocationID": dbus.MakeVariant(id), "ActiveEnterTimestampMonotonic": dbus.MakeVariant(uint64(1)),
	}
	exited := map[string]dbus.Variant{"ActiveState": dbus.MakeVariant(units.ActiveActive), "SubState": dbus.MakeVariant(units.SubExited)}
	for _, c := range []struct {
		name  string
		last  map[string]dbus.Variant
		reads int
	}{{"runs", running, 0}, {"ended", exited, 1}, {"nothing told", nil, 1}} {
		synctest.Test(t, func(t *testing.T) {
			b := newFakeBus(t, starter)
			m := b.manager()
			type result struct {
				s   units.Status
				err error
			}
			started := make(chan result, 1)
			go func() { s, err := m.Start(t.Context(), job1, props("OOMPolicy")); started <- result{s, err} }()
			synctest.Wait()
			if c.last != nil {
				b.emit(systemdName, string(objectPath(job1)), propertyIface, "PropertiesChanged", unitIface, c.last, []string{})
			}
			b.jobRemoved(systemdName, job1, 1, jobDone)
			r := <-started
			if phase, _ := units.Decode(r.s); r.err != nil || phase != units.PhaseRunning || r.s.InvocationID[:4] != "abcd" || r.s.Age <= 0 {
				t.Errorf("%s: %+v, %v", c.name, r.s, r.err)
			}
			select {
			case c := <-m.Changes():
				t.Errorf("told %+v of what Start has returned", c)
			default:
			}
			if n := b.countCalls("GetAll"); n != c.reads {
				t.Errorf("%s: read %d times", c.name, n)
			}
		})
	}
}

// A change during a start that gets no answer is reported.
func TestChangesOfAStartWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBus(t, starter)
		m := b.manager()
		ctx, leave := context.WithCancel(t.Context())
		started := make(chan error, 1)
		go func() { _, err := m.Start(ctx, job1, props("OOMPolicy")); started <- err }()
		synctest.Wait()
		b.unitChanged(systemdName, job1, units.SubExited)
		synctest.Wait()
		select {
		case c := <-m.Changes():
			t.Errorf("told %+v while the start is waited for", c)
		default:
		}
		leave()
		if err := <-started; err == nil {
			t.Error("a start that was given up has succeeded")
		}
		if c := <-m.Changes(); c.Name != job1 {
			t.Errorf("told %+v", c)
		}
	})
}
