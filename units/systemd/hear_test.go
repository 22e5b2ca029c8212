package systemd

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// hearer writes down what it is told.
type hearer struct{ lines []string }

func (h *hearer) note(of string, args ...any) { h.lines = append(h.lines, fmt.Sprint(of, args)) }

func (h *hearer) jobRemoved(unit string, job dbus.ObjectPath, result string) {
	h.note("job", unit, job, result)
}
func (h *hearer) unitRemoved(unit string)         { h.note("removed", unit) }
func (h *hearer) unitChanged(unit string, t told) { h.note("changed", unit, t.active, t.sub) }
func (h *hearer) reloads()                        { h.note("reloads") }
func (h *hearer) reloaded()                       { h.note("reloaded") }

// What is read from the bytes of a signal is what godbus makes of it, and nothing is
// heard of anybody but systemd (invariant 2).
func TestHeardAsDelivered(t *testing.T) {
	path := string(objectPath(job1))
	states := map[string]dbus.Variant{
		"ActiveState": dbus.MakeVariant("active"), "SubState": dbus.MakeVariant("exited"),
		"InvocationID": dbus.MakeVariant([]byte{1, 2}), "ActiveEnterTimestampMonotonic": dbus.MakeVariant(uint64(7)),
	}
	for _, c := range []struct {
		message []byte
		heard   bool
	}{
		{sent(t, path, propertyIface, "PropertiesChanged", unitIface, states, []string{}), true},
		{sent(t, path, propertyIface, "PropertiesChanged", unitIface, many(), []string{"x"}), false}, // ActiveState in words, InvocationID in none
		{sent(t, path, propertyIface, "PropertiesChanged", unitIface, map[string]dbus.Variant{}, []string{}), true},
		{sent(t, managerPath, managerIface, "JobRemoved", uint32(9), dbus.ObjectPath("/j/9"), job1, "done"), true},
		{sent(t, managerPath, managerIface, "UnitRemoved", job1, objectPath(job1)), true},
		{sent(t, managerPath, managerIface, "Reloading", true), false},
		{sent(t, managerPath, managerIface, "Reloading", false), false},
		{sent(t, managerPath, managerIface, "JobRemoved", "of another shape"), false},
		{reply(t, "an answer"), false},
	} {
		var heard, delivered hearer
		l := &link{to: &heard}
		l.owner.Store(":1.66")
		if l.hear(c.message) {
			t.Errorf("a stranger is heard: %v", heard.lines)
		}
		l.owner.Store("")
		if l.hear(c.message) {
			t.Errorf("somebody is heard before systemd is known: %v", heard.lines)
		}
		l.owner.Store(":1.1")
		if got := l.hear(c.message); got != c.heard {
			t.Errorf("%v: heard is %v", decoded(t, c.message), got)
		}
		if !c.heard {
			continue
		}
		d := &link{to: &delivered}
		d.owner.Store(":1.1")
		m := decoded(t, c.message)
		text := func(f dbus.HeaderField) string { s, _ := m.Headers[f].Value().(string); return s }
		at, _ := m.Headers[dbus.FieldPath].Value().(dbus.ObjectPath)
		d.DeliverSignal(text(dbus.FieldInterface), text(dbus.FieldMember),
			&dbus.Signal{Sender: text(dbus.FieldSender), Path: at, Body: m.Body})
		if !slices.Equal(heard.lines, delivered.lines) || len(heard.lines) != 1 {
			t.Errorf("%v is heard, %v delivered", heard.lines, delivered.lines)
		}
	}
}

// A unit that runs when its start has ended is not read: systemd has told all of it. One
// that does not run, or of which less is known, is.
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
			if n := b.called("GetAll"); n != c.reads {
				t.Errorf("%s: read %d times", c.name, n)
			}
		})
	}
}

// A change that comes while a start is waited for is told where that has no answer.
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
