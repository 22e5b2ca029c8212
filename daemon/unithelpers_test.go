package daemon

import (
	"context"
	"log/slog"
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/units"
)

// An inspection is disturbed if any helper is in the unit during it, however briefly.
func TestUnitHelpers(t *testing.T) {
	for name, c := range map[string]struct {
		visit func(v *unitHelpers) (before, meanwhile func())
		want  bool
	}{
		"none":              {func(*unitHelpers) (_, _ func()) { return func() {}, func() {} }, false},
		"over before":       {func(v *unitHelpers) (_, _ func()) { return func() { v.enter(1)() }, func() {} }, false},
		"of another job":    {func(v *unitHelpers) (_, _ func()) { return func() { v.enter(2) }, func() { v.enter(3)() } }, false},
		"under way":         {func(v *unitHelpers) (_, _ func()) { return func() { v.enter(1) }, func() {} }, true},
		"begun and over":    {func(v *unitHelpers) (_, _ func()) { return func() {}, func() { v.enter(1)() } }, true},
		"over in the midst": {func(v *unitHelpers) (_, _ func()) { leave := v.enter(1); return func() {}, leave }, true},
	} {
		var v unitHelpers
		before, meanwhile := c.visit(&v)
		before()
		l := v.inspect(1)
		meanwhile()
		if got := l.wasDisturbed(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		v.done(l)
		if again := v.inspect(2); len(v.inspections) != 1 || again.job != 2 {
			t.Errorf("%s: %d inspections are left", name, len(v.inspections))
		}
	}
}

// emptySystemd is a systemd whose unit is empty. Each reading of the unit calls the function visit.
type emptySystemd struct {
	Units
	visit func()
}

func (v emptySystemd) Status(_ context.Context, name string) (units.Status, error) {
	v.visit()
	return units.Status{Name: name, Load: units.LoadLoaded, Active: units.ActiveActive, Sub: units.SubExited, Spent: true}, nil
}

// A unit does not count as empty if a helper enters it during the inspection.
func TestAUnitWithAHelperIsNotSpent(t *testing.T) {
	for name, spent := range map[string]bool{"alone": true, "visited": false} {
		d := assemble(Options{Log: slog.New(slog.DiscardHandler)})
		d.opt.Units = emptySystemd{visit: func() {
			if !spent {
				d.exec.helpers.enter(1)()
			}
		}}
		got := d.exec.inspect(t.Context(), core.Inspect{Job: 1, Attempt: 1})
		if !got.OK || got.Unit.Phase != core.Exited || got.Unit.Spent != spent || len(d.exec.helpers.inspections) != 0 {
			t.Errorf("%s: %+v, %d inspections are left", name, got, len(d.exec.helpers.inspections))
		}
	}
}
