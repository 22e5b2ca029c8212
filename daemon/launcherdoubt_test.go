package daemon

import (
	"context"
	"log/slog"
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
)

// startsAs answers starts. For each start it records whether the launcher was checked first.
type startsAs struct {
	Units
	checked bool
	answer  units.Status
	err     error
}

func (s *startsAs) Start(_ context.Context, name string, props []units.Property) (units.Status, error) {
	s.checked = false
	for _, p := range props {
		s.checked = s.checked || p.Name == "ExecStartPre"
	}
	return s.answer, s.err
}

// After an event that may break the launcher, each start checks the launcher
// first, until a check succeeds.
func TestLauncherIsChecked(t *testing.T) {
	dead := units.Status{Name: units.Name(1), Load: units.LoadLoaded, Active: units.ActiveFailed, WasActive: true, MainCode: units.CLDKilled, MainStatus: 31}
	spoke := dead
	spoke.StatusText = contract.StatusBegun
	failed := &units.StartError{JobResult: units.JobFailed, Status: units.Status{
		Load: units.LoadLoaded, Active: units.ActiveFailed, Result: units.ResultSignal, CheckCode: units.CLDKilled, CheckStatus: 31,
	}}
	file, bus := "a", &startsAs{}
	d := assemble(Options{Log: slog.New(slog.DiscardHandler),
		Units: bus, Store: anyPayload{}, Specs: oneSpec{}, LauncherFile: func() string { return file }, Launcher: "/launcher",
		Changes: func(_ context.Context, tell func(units.Change)) { tell(units.Change{Resync: true}) },
	})
	nothing := func() {}
	for _, c := range []struct {
		name   string
		before func()
		answer units.Status
		err    error
		mem    int64
		want   bool
	}{
		{"the first start", nothing, units.Status{}, failed, 0, true},
		{"after one that failed", nothing, units.Status{}, nil, 0, true},
		{"after one that went well", nothing, units.Status{}, nil, 0, false},
		{"another file", func() { file = "b" }, units.Status{}, units.ErrBus, 0, true},
		{"after one of which nothing is known, with little memory", nothing, units.Status{}, nil, 1 << 20, false},
		{"after one that was not checked", nothing, units.Status{}, nil, 1 << 30, true},
		{"systemd has reloaded", func() { d.watch(t.Context()) }, units.Status{}, nil, 0, true},
		{"nothing happened", nothing, spoke, nil, 0, false},
		{"after an end of the command's", nothing, dead, nil, 0, false},
		{"after an end without a word", nothing, dead, nil, 0, true},
		{"after another", nothing, units.Status{}, nil, 0, true},
		{"in the end", nothing, units.Status{}, nil, 0, false},
	} {
		c.before()
		bus.answer, bus.err = c.answer, c.err
		ev := d.exec.start(t.Context(), core.Start{Job: job.Job{ID: 1, Attempt: &job.Attempt{Number: 1}, Request: job.Request{MemBytes: c.mem}}})
		if bus.checked != c.want {
			t.Errorf("%s: checked %t", c.name, bus.checked)
		}
		if got, is := ev.(core.StartFailed); is && c.err == failed && got.How != core.StartLater {
			t.Errorf("%s: %+v", c.name, ev)
		}
	}
}
