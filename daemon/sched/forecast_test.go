package sched

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// If a job would delay the first job that does not fit, it starts only after that job. The forecast
// agrees with the coming passes on that.
func TestForecastKeepsForWideJobs(t *testing.T) {
	sc := newScene(t, 2)
	sc.s.Policy.ReservationDepth = 1
	sc.runJob(101, 10*minute, onGPUs(0)...)
	sc.runJob(102, 30*minute, onGPUs(1)...)
	sc.queueJob(1, 2000, expected(1024*time.Second))
	sc.queueJob(2, 1000, expected(2048*time.Second))
	sc.queueJob(3, 1000, expected(512*time.Second))
	want := map[job.ID]time.Duration{1: 30 * minute, 2: 30*minute + 1024*time.Second, 3: 10 * minute}
	for id, at := range startsOf(sc.p.Forecast(&sc.s, sc.q, nil)) {
		if at != noon.Add(want[id]) {
			t.Errorf("job %d at +%s, want +%s", id, time.Duration(at-noon), want[id])
		}
		delete(want, id)
	}
	if len(want) > 0 {
		t.Errorf("not foretold: %v", want)
	}
}

// Once some jobs of a batch have started, they no longer count in the ranks of the rest.
func TestForecastOfBatches(t *testing.T) {
	sc := newScene(t, 2)
	sc.s.Policy = Policy{HalfLife: week, ReservationDepth: 1}
	for id, hours := range []time.Duration{3, 1, 1, 1} {
		sc.queueJob(job.ID(id+1), 1000, expected(hours*time.Hour), func(w *Waiting) { w.Batch = "a" })
	}
	if got := sc.printForecast(); got != "1 at +0s, 2 at +0s, 3 at +1h0m0s, 4 at +2h0m0s" {
		t.Error(got)
	}
	sc.s.Policy.MaxLoadPercent, sc.s.GPUs[1].LoadPercent = 50, 60
	if got := sc.printForecast(); got != "1 at +0s" {
		t.Errorf("while a load keeps the rest waiting: %s", got)
	}
}

// printForecast prints the expected starts, such as "1 at +10m0s, 3 at +0s".
func (sc *scene) printForecast() string {
	var list []string
	starts := startsOf(sc.p.Forecast(&sc.s, sc.q, nil))
	for _, id := range slices.Sorted(maps.Keys(starts)) {
		list = append(list, fmt.Sprintf("%d at +%s", id, time.Duration(starts[id]-noon)))
	}
	return strings.Join(list, ", ")
}

// knownEstimate returns an estimate of lognormal run times, for a program that has run before.
func knownEstimate(median time.Duration, spread float64) predict.Estimate {
	e := predict.Lognormal(median, spread)
	e.Known = true
	return e
}

// startsOf returns the likely starts that are known.
func startsOf(f *Forecast) map[job.ID]Instant {
	starts := map[job.ID]Instant{}
	for i := range f.waiting {
		if r := f.Start(f.waiting[i].ID); r.Likely > 0 {
			starts[f.waiting[i].ID] = r.Likely
		}
	}
	return starts
}

// A job may wait because of a quota of its user or group, or of the throttle of its array. It
// starts once a job that counts in the same limit ends. Jobs that wait only because of load have no
// forecast, since nobody knows how long they wait.
func TestForecastOfBounds(t *testing.T) {
	one := &Throttle{Limit: 1, Lane: &Lane{Running: 1}}
	for name, c := range map[string]struct {
		set  func(*scene)
		want string
	}{
		"none":       {func(*scene) {}, "1 at +0s, 2 at +10m0s"},
		"jobs":       {func(sc *scene) { sc.user("ann").MaxJobs = 1 }, "1 at +10m0s, 2 at +1h10m0s"},
		"GPUs":       {func(sc *scene) { sc.user("ann").MaxMilli = 1000 }, "1 at +10m0s, 2 at +1h10m0s"},
		"of a group": {func(sc *scene) { sc.user("ann").Groups = []*Account{{UID: -1, MaxJobs: 1, Jobs: 1}} }, "1 at +10m0s, 2 at +1h10m0s"},
		"barred":     {func(sc *scene) { sc.user("ann").Barred = "gone" }, ""},
		"an array": {func(sc *scene) {
			sc.s.Running[0].Throttle = one
			sc.q.entries[1].Throttle, sc.q.entries[1].Count = one, 3
		}, "1 at +10m0s, 2 at +0s"},
		"its limit, for ever": {func(sc *scene) { sc.q.entries[1].Throttle = atMost(0) }, "2 at +0s"},
		"within it":           {func(sc *scene) { sc.q.entries[1].Throttle = atMost(1) }, "1 at +0s, 2 at +10m0s"},
		"a lane": {func(sc *scene) {
			sc.q.entries[1].Throttle = one
			sc.q.entries[2].Throttle, sc.s.Running[0].Throttle = one, one
		}, "1 at +10m0s, 2 at +1h10m0s"},
		"tasks that follow": {func(sc *scene) { sc.q.entries[1].Throttle, sc.q.entries[1].Count = atMost(1), 3 }, "1 at +0s, 2 at +10m0s"},
		"tasks without":     {func(sc *scene) { sc.q.entries[1].Count = 3 }, "1 at +0s, 2 at +1h10m0s"},
		"a load":            {func(sc *scene) { sc.s.Policy.MaxLoadPercent, sc.s.GPUs[1].LoadPercent = 50, 60 }, ""},
		"a load of a job": {func(sc *scene) {
			sc.s.Policy.MaxLoadPercent, sc.s.GPUs[0].LoadPercent = 50, 60
		}, "1 at +0s, 2 at +10m0s"},
	} {
		sc := newScene(t, 2)
		sc.runJob(101, 10*minute, onGPUs(0)...)
		sc.user("ann").CountRunning(job.WholeGPU, gpuRate(job.WholeGPU))
		sc.queueJob(1, 1000)
		sc.queueJob(2, 1000)
		c.set(sc)
		if got := sc.printForecast(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if u := sc.user("ann"); u.Jobs != 1 || sc.q.Len() != 2 || one.Lane.Running != 1 {
			t.Errorf("%s: the forecast changed what it was given: %+v", name, u)
		}
	}
}

// If a job asks for a part of a GPU and names the GPU, the part counts in quotas as a whole GPU. In
// a forecast it counts in the same way, whether such a job ends, starts or waits.
func TestForecastOfChosenParts(t *testing.T) {
	sc := newScene(t, 4)
	ann := sc.user("ann")
	ann.MaxMilli = 2000
	for id := job.ID(101); id <= 102; id++ {
		sc.runJob(id, 10*minute, Grant{GPU: 0, Milli: 500}).Quota = job.WholeGPU
		ann.CountRunning(job.WholeGPU, gpuRate(500))
	}
	spread := func(w *Waiting) { w.Request.Spread = true }
	sc.queueJob(1, 500, spread)
	sc.queueJob(2, 500, spread)
	sc.queueJob(3, 500, spread)
	if got, want := sc.printForecast(), "1 at +10m0s, 2 at +10m0s, 3 at +1h10m0s"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The order changes as time passes: by the time a GPU becomes free, a short job that came later has
// overtaken a long one.
func TestForecastOfOrder(t *testing.T) {
	for end, want := range map[time.Duration]string{
		minute:      "1 at +1m0s, 2 at +9h7m8s",
		60 * minute: "1 at +1h8m32s, 2 at +1h0m0s",
	} {
		sc := newScene(t, 1)
		sc.s.Policy.FIFO = false
		sc.s.Policy.ReservationDepth = 0
		sc.runJob(101, end, onGPUs(0)...)
		sc.queueJob(1, 1000, expected(32768*time.Second), func(w *Waiting) { w.Since = ago(5 * time.Hour) })
		sc.queueJob(2, 1000, expected(512*time.Second), func(w *Waiting) { w.Since = ago(0) })
		if got := sc.printForecast(); got != want {
			t.Errorf("first GPU after %s: %s, want %s", end, got, want)
		}
	}
}

// A job that preempts another job starts once the other job has had its slice. Afterwards the
// preempted job runs again, once it is first in the order.
func TestForecastOfPreemption(t *testing.T) {
	low := job.Priority{Class: job.Low}
	for name, c := range map[string]struct {
		set  func(*Running)
		want string
	}{
		"has had its slice":     {func(*Running) {}, "1 at +0s, 2 at +1h0m0s"},
		"has not":               {func(r *Running) { r.Start = ago(10 * minute) }, "1 at +20m0s, 2 at +11h50m0s"},
		"is warned before":      {func(r *Running) { r.Notice = 5 * minute }, "1 at +5m0s, 2 at +1h5m0s"},
		"makes room already":    {func(r *Running) { r.Stopping, r.End = true, noon.Add(minute) }, "1 at +1m0s, 2 at +1h1m0s"},
		"of the same class":     {func(r *Running) { r.Priority = job.Priority{} }, "1 at +10h0m0s, 2 at +11h0m0s"},
		"is not preemptible":    {func(r *Running) { r.Preemptible = false }, "1 at +10h0m0s, 2 at +11h0m0s"},
		"ends before its slice": {func(r *Running) { r.Start, r.End = ago(10*minute), noon.Add(15*minute) }, "1 at +15m0s, 2 at +1h15m0s"},
	} {
		sc := newScene(t, 1)
		sc.s.Policy.Slice = 30 * minute
		r := sc.runJob(101, 10*time.Hour, onGPUs(0)...)
		r.Preemptible, r.Priority, r.Request = true, low, &job.Request{GPUMilli: 1000, Preemptible: true, Priority: low}
		c.set(r)
		sc.queueJob(1, 1000)
		sc.queueJob(2, 1000, asks(func(r *job.Request) { r.Priority = low }))
		if got := sc.printForecast(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Two jobs began together. Their median run time is an hour, and its spread is a factor of e. When
// the first of them ends, a third job starts. Once both have run for a day, they may end in minutes
// or in hours. Time limits apply, and a job that was told to stop ends.
func TestForecastOfRanges(t *testing.T) {
	hour := knownEstimate(time.Hour, 1)
	limit := &job.Request{TimeLimit: job.Span(20 * minute)}
	for name, c := range map[string]struct {
		set  func(*Running, *predict.Estimate)
		want string
	}{
		"at once":          {func(*Running, *predict.Estimate) {}, "6m53s to 2h34m50s, likely 35m55s"},
		"after a day":      {func(r *Running, _ *predict.Estimate) { r.Start = ago(24 * time.Hour) }, "6m56s to 14h9m37s, likely 1h24m1s"},
		"with a limit":     {func(r *Running, _ *predict.Estimate) { r.Request = limit }, "6m53s to 25m0s, likely 20m0s"},
		"told to stop":     {func(r *Running, _ *predict.Estimate) { r.Stopping = true }, "1h0m0s at the latest"},
		"known well":       {func(_ *Running, e *predict.Estimate) { e.Spread = 0 }, "48m0s to 1h15m0s, likely 1h0m0s"},
		"unknown":          {func(_ *Running, e *predict.Estimate) { e.Known = false }, "unknown"},
		"only their limit": {func(r *Running, e *predict.Estimate) { e.Known, r.Request = false, limit }, "20m0s at the latest"},
		"suspended":        {func(r *Running, _ *predict.Estimate) { r.Still = Never }, "unknown"},
		"for a while":      {func(r *Running, _ *predict.Estimate) { r.Request, r.Still = limit, noon.Add(time.Hour) }, "54m53s to 1h40m0s, likely 1h20m0s"},
		"it had been": {func(r *Running, _ *predict.Estimate) {
			r.Request, r.Start, r.SuspendedTime = limit, ago(time.Hour), time.Hour
		}, "6m53s to 25m0s, likely 20m0s"},
	} {
		sc := newScene(t, 2)
		estimated := hour
		for id := range job.ID(2) {
			r := sc.runJob(101+id, time.Hour, onGPUs(int(id))...)
			r.Start = noon
			c.set(r, &estimated)
		}
		sc.queueJob(1, 1000)
		r := sc.p.Forecast(&sc.s, sc.q, func(job.ID) *predict.Estimate { return &estimated }).Start(1)
		after := func(at Instant) time.Duration { return time.Duration(at - noon).Round(time.Second) }
		got := fmt.Sprintf("%s to %s, likely %s", after(r.Early), after(r.Late), after(r.Likely))
		switch {
		case r.Unknown:
			got = "unknown"
		case r.Latest && r.Likely == r.Late:
			got = after(r.Late).String() + " at the latest"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A moment that a person fixed has no margin, unless a job of unknown length may end earlier. A
// moment that follows from the run times of other jobs has a margin.
func TestForecastOfFixedMoments(t *testing.T) {
	long := knownEstimate(100*time.Hour, 0.1)
	none := predict.Estimate{Median: time.Hour, Spread: 1}
	limit := &job.Request{TimeLimit: job.Span(10 * time.Hour)}
	drained := func(sc *scene) { sc.s.GPUs[0].State, sc.s.GPUs[0].ReadyAt = Drained, noon.Add(8*time.Hour) }
	for name, c := range map[string]struct {
		set    func(*scene)
		second *predict.Estimate // the estimate of the job on the other GPU
		want   Range
	}{
		"a drain": {drained, &long, Range{noon.Add(8 * time.Hour), noon.Add(8 * time.Hour), noon.Add(8 * time.Hour), false, false}},
		"a reservation": {func(sc *scene) {
			sc.s.Reserved = []AdvanceReservation{{GPUs: []bool{true, false}, From: noon, To: noon.Add(4 * time.Hour)}}
		}, &long, Range{noon.Add(4 * time.Hour), noon.Add(4 * time.Hour), noon.Add(4 * time.Hour), false, false}},
		"beside a limit": {drained, &none, Range{noon, noon.Add(8 * time.Hour), noon.Add(8 * time.Hour), true, false}},
	} {
		sc := newScene(t, 2)
		r := sc.runJob(101, 100*time.Hour, onGPUs(1)...)
		r.Start = noon
		if c.second == &none {
			r.Request = limit
		}
		c.set(sc)
		sc.queueJob(1, 1000)
		got := sc.p.Forecast(&sc.s, sc.q, func(id job.ID) *predict.Estimate {
			if id == 101 {
				return c.second
			}
			return &none
		}).Start(1)
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A forecast simulates only while its caller wants more, and later continues where it stopped. The
// number of passes in all its futures together is limited. If the passes do not suffice, the
// forecast has no answer.
func TestForecastStops(t *testing.T) {
	sc, wide := newScene(t, 1), knownEstimate(time.Minute, 1)
	sc.runJob(101, time.Hour, onGPUs(0)...)
	sc.queueJob(1, 1000, func(w *Waiting) { w.Count = 2000 })
	sc.queueJob(2, 1000)
	f := sc.p.Forecast(&sc.s, sc.q, func(job.ID) *predict.Estimate { return &wide })
	passes := func() (n int) {
		for _, one := range f.futures {
			n += one.passes
		}
		return n
	}
	left := 3
	if f.Simulate(func() bool { left--; return left >= 0 }, 2) || passes() != 3 {
		t.Errorf("%d passes though nobody asked for more than 3", passes())
	}
	if r := f.Start(2); r != (Range{}) || passes() != allPasses {
		t.Errorf("%+v after %d passes", r, passes())
	}
}

// A start is reported as unknown if the job waits for jobs that, by all that is known, run for
// ever. It is not reported as unknown if the job waits for something else that never comes, or if a
// future ended too early.
func TestUnknownStarts(t *testing.T) {
	hour, none := &predict.Estimate{Median: time.Hour, Known: true}, &predict.Estimate{}
	for name, c := range map[string]struct {
		set  func(*scene)
		runs *predict.Estimate
		want bool
	}{
		"one without end":  {func(*scene) {}, none, true},
		"behind another":   {func(sc *scene) { sc.queueJob(3, 1000) }, none, true},
		"its load":         {func(sc *scene) { sc.s.Policy.MaxLoadPercent, sc.s.GPUs[0].LoadPercent = 50, 60 }, none, true},
		"an end":           {func(*scene) {}, hour, false},
		"barred":           {func(sc *scene) { sc.user("ann").Barred = "gone" }, none, false},
		"all paused":       {func(sc *scene) { sc.s.GPUs[0].State = Paused }, none, false},
		"the quota":        {func(sc *scene) { sc.s.GPUs, sc.user("ann").MaxJobs = append(sc.s.GPUs, sc.s.GPUs[0]), 1 }, none, true},
		"array of limit 0": {func(sc *scene) { sc.q.entries[2].Throttle = atMost(0) }, none, false},
	} {
		sc := newScene(t, 1)
		sc.runJob(101, time.Hour, onGPUs(0)...).Start = noon
		sc.user("ann").CountRunning(job.WholeGPU, gpuRate(job.WholeGPU))
		sc.queueJob(2, 1000)
		c.set(sc)
		last := job.ID(sc.q.Len() + 1)
		f := sc.p.Forecast(&sc.s, sc.q, func(id job.ID) *predict.Estimate {
			if id == 101 {
				return c.runs
			}
			return hour
		})
		if got := f.Start(last); got.Unknown != c.want || got.Unknown && got.Likely != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// An advance reservation may keep one user's job from starting. A user for whom the reservation was
// made may still start the same job.
func TestForecastOfWhatIsReserved(t *testing.T) {
	sc := newScene(t, 1)
	sc.s.Policy.ReservationDepth = 0
	bob := sc.user("bob")
	sc.reserve(0, time.Hour, "for bob", 0).UIDs = []int{bob.UID}
	sc.queueJob(1, 1000)
	sc.queueJob(2, 1000, of(bob))
	if got, want := sc.printForecast(), "1 at +1h0m0s, 2 at +0s"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// If all jobs run for as long as expected and no jobs are added, each job starts when the forecast
// says so. This also holds if scores drift apart and change the order, and for jobs at quotas.
func TestForecastComesTrue(t *testing.T) {
	for seed := range drawing(1000) {
		l := newLoop(t, seed, 4, Policy{FIFO: seed%2 == 0, ReservationDepth: int(seed / 2 % 4), HalfLife: time.Hour})
		foretold := l.foretellOnce(2, 30, false)
		l.toTheEnd()
		for _, j := range l.jobs {
			if foretold[j.ID] != j.first {
				t.Errorf("seed %d: %s was foretold at +%s and started at +%s", seed, j, time.Duration(foretold[j.ID]-noon), time.Duration(j.first-noon))
			}
		}
		if t.Failed() {
			return
		}
	}
}

// foretellOnce adds random jobs of some users, and forecasts their starts in the first pass. At
// most two jobs of the last user may run at the same time.
func (l *loop) foretellOnce(users, jobs int, preemptible bool) map[job.ID]Instant {
	var accounts []*Account
	for i := range users {
		accounts = append(accounts, &Account{UID: i})
	}
	l.capped, accounts[users-1].MaxJobs = true, 2
	for range 1 + l.IntN(jobs) {
		r := job.Request{GPUMilli: (1 + l.IntN(8)) * job.WholeGPU / 2, Preemptible: preemptible}
		l.add(0, accounts[l.IntN(users)], r, time.Second<<l.IntN(14))
	}
	foretold, p := map[job.ID]Instant{}, NewPlanner()
	l.passed = func(*Plan, []job.ID) {
		if len(foretold) == 0 {
			maps.Copy(foretold, startsOf(p.Forecast(&l.s, l.q, nil)))
		}
	}
	return foretold
}

// If jobs are preempted after their slice, the forecasts of nearly all jobs still come true,
// although a forecast leaves out some moments.
func TestForecastWithPreemption(t *testing.T) {
	all, late := 0, 0
	for seed := range uint64(200) {
		l := newLoop(t, seed, 4, Policy{ReservationDepth: 1, HalfLife: time.Hour, Slice: 10 * minute})
		l.tick = minute
		foretold := l.foretellOnce(3, 30, true)
		l.toTheEnd()
		for _, j := range l.jobs {
			if told := time.Duration(foretold[j.ID] - noon); j.first > noon {
				all++
				if miss := time.Duration(j.first-noon) - told; foretold[j.ID] == 0 || max(miss, -miss) > told/4 {
					late++
				}
			}
		}
	}
	if late*20 > all {
		t.Errorf("%d of %d starts were off by more than a quarter", late, all)
	}
}

// BenchmarkForecast measures a forecast of the first 200 starts on 64 GPUs that are all in use.
func BenchmarkForecast(b *testing.B) {
	s, q := crowded(100_000)
	p := NewPlanner()
	wide := knownEstimate(time.Hour, 1)
	for name, estimated := range map[string]func(job.ID) *predict.Estimate{"one": nil, "all": func(job.ID) *predict.Estimate { return &wide }} {
		b.Run("futures="+name, func(b *testing.B) {
			for b.Loop() {
				if len(startsOf(p.Forecast(s, q, estimated))) == 0 {
					b.Fatal("nothing is foretold")
				}
			}
		})
	}
}
