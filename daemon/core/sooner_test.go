package core_test

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// runTimes runs a command to its end several times. Each run has the given length and peak of host
// memory.
func (a *asker) runTimes(command string, times int, d time.Duration, mem int64) {
	a.Helper()
	for range times {
		id := a.submit("bob", job.Request{GPUMilli: job.WholeGPU, Derived: job.Derived{Shape: command}})
		a.now = a.now.Add(d - time.Minute)
		a.step(a.sample(0), -1)
		u := a.units[id]
		if u == nil {
			a.Fatalf("job %d is %s", id, a.jobs[id].State)
		}
		u.Phase, u.Exit, u.Used = core.Exited, contract.Exit{}, job.HostUse{PeakMemBytes: mem}
		a.step(core.Changed{Job: id}, -1)
		a.settle()
		a.waitAndSample(time.Minute)
	}
}

var real = job.Derived{Shape: "real"}

// reserveFor reserves all GPUs for another user. The reservation begins after the given time.
func (a *asker) reserveFor(in time.Duration) {
	res := job.Reservation{GPUs: []job.Allocation{{}}, From: a.now.Add(in), To: a.now.Add(in + 9*time.Hour), Users: []job.Account{{UID: 9, User: "dora"}}}
	a.token++
	a.step(core.Command{Token: a.token, Who: job.Actor{Admin: true}, What: job.Command{Kind: job.CommandReserve, Reservation: &res}}, -1)
}

// A suggested limit is never shorter than a run of the same command, and does not depend on runs of
// other commands. If no run time of the command is known, the suggestion is the longest limit with
// which the job starts now.
func TestSuggestedLimitsExceedKnownRuns(t *testing.T) {
	type past struct {
		command string
		times   int
		length  time.Duration
	}
	for name, c := range map[string]struct {
		past  []past
		limit time.Duration
		gap   time.Duration // the time from now to the reservation
		want  string
	}{
		"never run":                    {nil, 3 * time.Hour, 30 * time.Minute, "--time 29m +0s of 3"},
		"never run, and has no limit":  {nil, 0, 30 * time.Minute, "--time 29m +0s of 3"},
		"never run, a gap of minutes":  {nil, 3 * time.Hour, 5 * time.Minute, " of 2"},
		"others' runs were short":      {[]past{{"other", 6, 2 * time.Minute}}, 3 * time.Hour, 30 * time.Minute, "--time 29m +0s of 3"},
		"four short runs":              {[]past{{"real", 4, 2 * time.Minute}}, 3 * time.Hour, 30 * time.Minute, "--time 29m +0s of 3"},
		"six short runs":               {[]past{{"real", 6, 2 * time.Minute}}, 3 * time.Hour, 30 * time.Minute, "--time 29m +0s of 3"},
		"six short runs, a small gap":  {[]past{{"real", 6, 2 * time.Minute}}, 3 * time.Hour, 5 * time.Minute, "--time 4m +0s of 3"},
		"one long run":                 {[]past{{"real", 1, time.Hour}}, 3 * time.Hour, 30 * time.Minute, " of 2"},
		"a smoke test and a real run":  {[]past{{"real", 1, time.Hour}, {"real", 20, 2 * time.Minute}}, 3 * time.Hour, 30 * time.Minute, " of 3"},
		"one as long as the gap":       {[]past{{"real", 1, 29 * time.Minute}}, 3 * time.Hour, 30 * time.Minute, " of 2"},
		"a gap longer than a long run": {[]past{{"real", 1, time.Hour}, {"real", 20, 2 * time.Minute}}, 3 * time.Hour, 2 * time.Hour, "--time 1h59m +0s of 3"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAsker(t, 1, func(p *site.Policy) { p.Predict = nil })
			for _, p := range c.past {
				a.runTimes(p.command, p.times, p.length, 0)
			}
			a.reserveFor(c.gap)
			id := a.submit("bob", job.Request{GPUMilli: job.WholeGPU, TimeLimit: job.Span(c.limit), Derived: real})
			a.want("what would start it sooner", a.printSooner(id), c.want)
			a.revive()
			a.step(a.listed(), -1)
			a.step(a.sample(0), -1)
			a.want("the same after a restart", a.printSooner(id), c.want)
		})
	}
}

// A run that has not ended counts with its length so far.
func TestSuggestedLimitsExceedPresentRuns(t *testing.T) {
	a := newAsker(t, 2, func(p *site.Policy) { p.Predict = nil })
	a.submit("bob", job.Request{GPUMilli: job.WholeGPU, GPUIDs: []int{1}, Derived: real})
	a.waitAndSample(time.Hour)
	a.reserveFor(30 * time.Minute)
	id := a.submit("bob", job.Request{GPUMilli: job.WholeGPU, GPUIDs: []int{0}, TimeLimit: job.Span(3 * time.Hour), Derived: real})
	a.want("beside one that runs", a.printSooner(id), " of 3")
}

// Less memory is suggested if the command has run at least five times and no run needed more.
func TestSoonerWithProvenMemory(t *testing.T) {
	const all = 64 * gib
	for name, c := range map[string]struct {
		times int
		took  []int64
		want  string
	}{
		"never run":   {0, nil, " of 1"},
		"three runs":  {1, []int64{gib, gib, gib}, " of 1"},
		"six runs":    {2, []int64{gib, gib, gib}, "--mem 2G +0s of 3"},
		"one was big": {4, []int64{gib, 20 * gib, gib}, " of 3"},
	} {
		a := newAsker(t, 2, func(p *site.Policy) { p.Predict, p.HostMemBytes = nil, all })
		for range c.times {
			for _, mem := range c.took {
				a.runTimes("real", 1, 10*time.Minute, mem)
			}
		}
		a.submit("ann", job.Request{GPUMilli: job.WholeGPU, MemBytes: all - 10*gib})
		id := a.submit("bob", job.Request{GPUMilli: job.WholeGPU, MemBytes: 24 * gib, Derived: real, Preemptible: true})
		a.want(name, a.printSooner(id), c.want)
	}
}
