package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/starts"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/launch"
)

// deafUnits is a systemd that never answers.
type deafUnits struct{ Units }

func (deafUnits) Status(ctx context.Context, _ string) (units.Status, error) {
	<-ctx.Done()
	return units.Status{}, ctx.Err()
}

func (deafUnits) Stop(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

// oneSpec is a directory with the specs of job 1. Its keys are numbers of attempts.
type oneSpec map[int]bool

func (o oneSpec) Write(job.ID, int, *launch.Spec) (string, error) { return "", nil }
func (o oneSpec) Remove(_ job.ID, attempt int) error              { delete(o, attempt); return nil }
func (o oneSpec) Keep(job.ID, int, []byte) error                  { return nil }
func (o oneSpec) Kept(job.ID, int) ([]byte, error)                { return nil, nil }
func (o oneSpec) SweepKept(func(job.ID, int) bool) error          { return nil }
func (o oneSpec) Sweep(keep func(job.ID, int) bool) error {
	maps.DeleteFunc(o, func(attempt int, _ bool) bool { return !keep(1, attempt) })
	return nil
}

// specWatcher records whether the spec still existed when the unit was stopped.
type specWatcher struct {
	Units
	specs oneSpec
	with  bool
}

func (c *specWatcher) Stop(context.Context, string) error {
	c.with = c.specs[1]
	return nil
}

// The spec of an attempt is removed before the attempt's unit. If a start that was requested
// earlier reaches systemd after the unit is gone, it finds nothing to run. The spec of the next
// attempt stays.
func TestSpecGoesBeforeTheUnit(t *testing.T) {
	specs := oneSpec{1: true, 2: true}
	bus := &specWatcher{specs: specs}
	d := assemble(Options{Log: slog.New(slog.DiscardHandler), Units: bus, Specs: specs})
	if ev := d.exec.stop(t.Context(), core.Stop{Job: 1, Attempt: 1}); !ev.(core.Stopped).OK || bus.with || specs[1] || !specs[2] {
		t.Errorf("%+v: the spec was there at the stop: %t, and after it: %v", ev, bus.with, specs)
	}
}

// When the daemon starts, it keeps the specs of running attempts and removes all others.
func TestSpecsOfEarlierAttemptsAreSwept(t *testing.T) {
	for state, want := range map[job.State]oneSpec{
		job.Running: {2: true}, job.Starting: {2: true}, job.Queued: {},
	} {
		specs := oneSpec{1: true, 2: true, 3: true}
		j := job.Job{ID: 1, State: state, Attempt: &job.Attempt{Number: 2}}
		o := Options{Log: slog.New(slog.DiscardHandler), Specs: specs, Boot: func() (string, error) { return "boot", nil }}
		o.Restored.Jobs = []job.Job{j}
		if _, err := New(o); err != nil || !maps.Equal(specs, want) {
			t.Errorf("%s: %v, %v are left", state, err, specs)
		}
	}
}

// A stop waits until the job's grace is over, however long the grace is, and then sends SIGKILL. If
// the bus never answers, the stop takes only a little longer.
func TestStopHasItsGrace(t *testing.T) {
	for _, grace := range []time.Duration{0, time.Minute, 20 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			d := assemble(Options{Log: slog.New(slog.DiscardHandler), Units: deafUnits{}, Specs: oneSpec{}})
			begin := time.Now()
			ev := d.exec.stop(t.Context(), core.Stop{Job: 1, Attempt: 1, Grace: grace})
			if took := time.Since(begin); took < grace+time.Minute || took > grace+5*time.Minute || ev.(core.Stopped).OK {
				t.Errorf("with a grace of %s: %+v after %s", grace, ev, took)
			}
		})
	}
}

// If a user may not run anything, no job of this user is started and no spec is written. The same
// applies to a subordinate uid of such a user.
func TestNothingStartsOfAnExpiredAccount(t *testing.T) {
	for name, j := range map[string]job.Job{
		"its own":         {ID: 1, Owner: job.Owner{UID: 1001}},
		"a subordinate's": {ID: 1, Owner: job.Owner{UID: 100_005}, Life: job.Life{Principal: &job.Account{UID: 1001}}},
	} {
		d := assemble(Options{Log: slog.New(slog.DiscardHandler),
			Barred: func(uid int) string { return map[int]string{1001: "it has expired"}[uid] },
		})
		j.Attempt = &job.Attempt{Number: 3}
		want := core.StartFailed{Job: 1, Attempt: 3, How: core.StartBarred, Detail: "it has expired"}
		if ev := d.exec.start(t.Context(), core.Start{Job: j}); ev != want {
			t.Errorf("%s: %+v", name, ev)
		}
	}
}

// startCounter counts the starts of units.
type startCounter struct {
	Units
	n atomic.Int32
}

func (b *startCounter) Start(_ context.Context, name string, _ []units.Property) (units.Status, error) {
	b.n.Add(1)
	return units.Status{Name: name}, nil
}

// anyPayload is a store that has a payload for each job.
type anyPayload struct{ Store }

func (anyPayload) Payload(context.Context, job.ID) (job.Payload, error) { return job.Payload{}, nil }

// If a start is delayed, for example by a slow disk, it does not use the GPU sample from before the
// delay.
func TestStartsRestOnALookThatIsNotOld(t *testing.T) {
	for waited, want := range map[time.Duration]int32{0: 1, lookLasts: 1, lookLasts + 1: 0, time.Hour: 0} {
		synctest.Test(t, func(t *testing.T) {
			bus := &startCounter{}
			d := assemble(Options{Log: slog.New(slog.DiscardHandler), Units: bus, Store: anyPayload{}, Specs: oneSpec{}})
			a := core.Start{Job: job.Job{ID: 1, Attempt: &job.Attempt{Number: 2}}, SampledAt: time.Now()}
			time.Sleep(waited)
			ev := d.exec.start(t.Context(), a)
			stale := ev == core.StartFailed{Job: 1, Attempt: 2, How: core.StartStale}
			if bus.n.Load() != want || stale == (want == 1) {
				t.Errorf("after %v: %d starts, %+v", waited, bus.n.Load(), ev)
			}
			if a.SampledAt = (time.Time{}); d.exec.start(t.Context(), a) == ev && stale || bus.n.Load() != want+1 {
				t.Errorf("after %v: a start that rests on no look does not go out", waited)
			}
		})
	}
}

// endsStore is a store that only knows the ends in its map.
type endsStore struct {
	Store
	ends map[job.ID]job.End
	err  error
}

func (s endsStore) Ends(context.Context, []job.ID) (map[job.ID]job.End, error) { return s.ends, s.err }

// stopRecorder records signals and stops.
type stopRecorder struct {
	Units
	names []string
}

func (s *stopRecorder) Kill(_ context.Context, name string, signal int, _ units.Whom) error {
	s.names = append(s.names, fmt.Sprint(signal, " to ", name))
	return nil
}

func (s *stopRecorder) Stop(_ context.Context, name string) error {
	s.names = append(s.names, name)
	return nil
}

// Shortly after a job ends, its unit is collected. If a listing shows a unit that was not
// collected, the unit is collected with its processes, but only if the end of its job is on record.
// A unit without a job is reported once.
func TestCollect(t *testing.T) {
	stop, ended := []string{units.Name(1)}, map[job.ID]job.End{1: {State: job.Failed}}
	all := append([]string{"9 to " + units.Name(1)}, stop...)
	for name, c := range map[string]struct {
		ends  map[job.ID]job.End
		a     core.Collect
		does  []string
		warns bool
		takes time.Duration
	}{
		"just ended":                      {nil, core.Collect{Job: 1}, stop, false, collectAfter},
		"listed, ended":                   {ended, core.Collect{Job: 1, Listings: 1}, all, false, 0},
		"listed, ended, a stop failed":    {ended, core.Collect{Job: 1, Listings: 2}, all, false, 0},
		"listed, not on record":           {nil, core.Collect{Job: 1, Listings: 1}, nil, false, 0},
		"listed twice, not on record":     {nil, core.Collect{Job: 1, Listings: 2}, nil, true, 0},
		"listed once more, not on record": {nil, core.Collect{Job: 1, Listings: 3}, nil, true, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			bus := &stopRecorder{}
			d := assemble(Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Units: bus, Store: endsStore{ends: c.ends}})
			begin := time.Now()
			d.exec.collect(t.Context(), c.a)
			if took := time.Since(begin); !slices.Equal(bus.names, c.does) || took != c.takes || strings.Contains(log.String(), "left alone") != c.warns {
				t.Errorf("%s: %q after %s, logged %q", name, bus.names, took, log.String())
			}
		})
	}
}

// A unit without a job is reported once, even if the disk failed when the unit was first seen.
func TestOrphanIsReportedOnce(t *testing.T) {
	for fails := range 4 { // index of the listing during which the disk fails
		var log bytes.Buffer
		d := assemble(Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		for listing := 1; listing <= 5; listing++ {
			store := endsStore{}
			if listing == fails {
				store.err = errors.New("disk I/O error")
			}
			d.opt.Units, d.opt.Store = &stopRecorder{}, store
			d.exec.collect(t.Context(), core.Collect{Job: 1, Listings: listing})
		}
		if n := strings.Count(log.String(), "left alone"); n != 1 {
			t.Errorf("where listing %d fails it is reported %d times", fails, n)
		}
	}
}

// noBus is a systemd whose units can't be read.
type noBus struct{ Units }

func (noBus) Status(context.Context, string) (units.Status, error) {
	return units.Status{}, errors.New("a reply that makes no sense")
}

// If a stop can't find out to which job its unit belongs, it ends no process, logs the reason, and
// is tried again.
func TestAStopThatCantReadTheUnit(t *testing.T) {
	for _, look := range []bool{false, true} {
		var log strings.Builder
		d := assemble(Options{Log: slog.New(slog.NewTextHandler(&log, nil)),
			Units:  noBus{},
			Origin: func(context.Context, string) (units.Origin, error) { return units.Origin{}, units.ErrAbsent },
		})
		ev := d.exec.stop(t.Context(), core.Stop{Job: 1, Attempt: 2, InspectFirst: look})
		if ev != (core.Stopped{Job: 1, Attempt: 2}) || !strings.Contains(log.String(), "makes no sense") {
			t.Errorf("look %t: %+v, and the log says %q", look, ev, log.String())
		}
	}
}

// Some failures of a start are never the job's fault. After such a failure, the start is tried
// again, and the reason is reported.
func TestStartsThatFailAreTriedAgain(t *testing.T) {
	failed := func(job string, s units.Status) error {
		s.Load, s.Active = units.LoadLoaded, units.ActiveFailed
		return &units.StartError{JobResult: job, Status: s}
	}
	exec := func(status int32) units.Status {
		return units.Status{Result: units.ResultExitCode, MainCode: units.CLDExited, MainStatus: status}
	}
	for _, c := range []struct {
		err  error
		how  core.StartFailure
		says string
	}{
		{&units.RefusedError{Message: "Unit gpujobs-u1001.slice is masked."}, core.StartLater, "systemd: Unit gpujobs-u1001.slice is masked."},
		{&units.RefusedError{Code: invalidArgs, Message: "Invalid CPU quota"}, core.StartRefused, "systemd: Invalid CPU quota"},
		{failed("failed", exec(203)), core.StartLater, "execute the launcher (203)"},
		{failed("failed", exec(217)), core.StartLater, "(217)"},
		{failed("failed", units.Status{Result: units.ResultExitCode}), core.StartLater, "set to run before jobs"},
		{failed("failed", units.Status{Result: units.ResultSignal, CheckCode: units.CLDKilled, CheckStatus: 31}), core.StartLater, "the launcher ended with signal 31 before it began the command"},
		{failed("failed", units.Status{Result: units.ResultExitCode, CheckCode: units.CLDExited, CheckStatus: 203}), core.StartLater, "execute the launcher (203)"},
		{failed("failed", units.Status{Result: units.ResultOOM, CheckCode: units.CLDKilled, CheckStatus: 9}), core.StartLater, "the launcher ended with signal 9"},
		{failed("failed", units.Status{Result: units.ResultResources}), core.StartLater, "short of memory"},
		{failed("timeout", units.Status{Result: units.ResultTimeout}), core.StartLater, "took too long"},
		{&units.StartError{JobResult: units.JobDependency}, core.StartLater, "another unit"},
		{&units.StartError{JobResult: units.JobSkipped}, core.StartLater, "a condition"},
		{&units.StartError{JobResult: "canceled"}, core.StartLater, "canceled"},
		{&units.StartError{JobResult: units.JobUnknown}, core.StartRefused, "is unknown"},
		{&units.StartError{JobResult: units.JobFailed}, core.StartRefused, "is unknown"},
		{fmt.Errorf("start: %w", units.ErrNotNow), core.StartLater, "was stopping it"},
		{fmt.Errorf("start: %w", units.ErrExists), core.StartExists, ""},
		{fmt.Errorf("start: %w", units.ErrBus), core.StartUnsure, ""},
	} {
		d := assemble(Options{Log: slog.New(slog.DiscardHandler)})
		got := d.exec.explainStart(t.Context(), core.StartFailed{Job: 1, Attempt: 1}, 1, c.err).(core.StartFailed)
		if got.How != c.how || !strings.Contains(got.Detail, c.says) {
			t.Errorf("%v: %+v", c.err, got)
		}
	}
}

// Health shows each cause of failed starts. The health is failing if no job of any user starts.
func TestHealthOfStarts(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	why := job.Text("systemd: Unit gpujobs-u1001.slice is masked.")
	d := assemble(Options{})
	for _, c := range []struct {
		list []starts.Trouble
		want job.Check
	}{
		{nil, job.Check{Health: job.Healthy, Detail: "placed jobs start"}},
		{[]starts.Trouble{{User: "alice", Starts: 1, Since: at, Why: why}},
			job.Check{Health: job.Degraded, Detail: "the last start of a job of alice failed at 12:00:00: " + why.Text}},
		{[]starts.Trouble{{All: true, Starts: 3, Since: at, Why: why, Next: at.Add(time.Minute)}},
			job.Check{Health: job.Failing, Detail: "the last 3 starts of jobs of several users failed since 12:00:00: " + why.Text + "; one job is tried at a time, the next at 12:01:00"}},
	} {
		if got := d.exec.checkStarts(nil, c.list); got.Health != c.want.Health || got.Detail != c.want.Detail || (got.Next == "") != (c.list == nil) {
			t.Errorf("%+v", got)
		}
	}
}
