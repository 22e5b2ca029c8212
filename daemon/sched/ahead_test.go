package sched

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

const minute = time.Minute

// TestBackfill is the classic example of EASY backfill with named GPUs. GPU 0 becomes free in 30
// minutes and GPU 1 in 60; GPUs 2 and 3 are free. Job 1 asks for three GPUs, so it starts in 30
// minutes, and GPUs 0, 2 and 3 are kept for it. Later jobs may use GPUs 2 and 3 until then.
func TestBackfill(t *testing.T) {
	two := asks(func(r *job.Request) { r.GPUMilli = 2000 })
	limit := func(d time.Duration) func(*Waiting) { return asks(func(r *job.Request) { r.TimeLimit = job.Span(d) }) }
	for name, c := range map[string]struct {
		behind []func(*Waiting)
		want   string
	}{
		"ends before the reserved start":    {[]func(*Waiting){expected(15 * minute)}, "start 2 on 2, keep 0+2+3 for 1 at +30m0s"},
		"two GPUs until the reserved start": {[]func(*Waiting){two, expected(15 * minute)}, "start 2 on 2+3, keep 0+2+3 for 1 at +30m0s"},
		"would run past the reserved start": {[]func(*Waiting){expected(40 * minute)}, "keep 0+2+3 for 1 at +30m0s"},
		"by its limit it cannot":            {[]func(*Waiting){expected(40 * minute), limit(20 * minute)}, "start 2 on 2, keep 0+2+3 for 1 at +30m0s"},
		"rounded up it would, just so":      {[]func(*Waiting){expected(18 * minute)}, "keep 0+2+3 for 1 at +30m0s"}, // 2048 s
		"asks no GPU":                       {[]func(*Waiting){asks(func(r *job.Request) { r.GPUMilli = 0 })}, "start 2 on none, keep 0+2+3 for 1 at +30m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 4)
			sc.runJob(101, 30*minute, onGPUs(0)...)
			sc.runJob(102, 60*minute, onGPUs(1)...)
			sc.queueJob(1, 3000)
			sc.queueJob(2, 1000, c.behind...)
			sc.expect(c.want)
		})
	}
}

// If a reservation leaves GPUs free at its start, any job can start on these GPUs, however long it
// runs.
func TestLeftOverBesideAReservation(t *testing.T) {
	sc := newScene(t, 4)
	sc.runJob(101, 30*minute, onGPUs(0, 1)...)
	sc.queueJob(1, 3000)
	sc.queueJob(2, 1000, expected(100*time.Hour))
	sc.queueJob(3, 1000, expected(100*time.Hour))
	sc.expect("start 2 on 3, keep 0+1+2 for 1 at +30m0s")
}

// The GPUs that become free last are reserved. Until the reserved start, other jobs can use the
// GPUs that become free earlier. If GPUs become free together, those with the lowest positions are
// reserved.
func TestLatestAreKept(t *testing.T) {
	for name, c := range map[string]struct {
		ends  []time.Duration // when the jobs on GPU 0, 1 and so on end; 0: the GPU is free
		milli int
		want  string
	}{
		"one of two that are free":        {[]time.Duration{0, 10 * minute, 0, 20 * minute}, 3000, "keep 0+1+2 for 1 at +10m0s"},
		"the later of those busy":         {[]time.Duration{10 * minute, 30 * minute, 20 * minute}, 2000, "keep 0+2 for 1 at +20m0s"},
		"all at once, the lowest":         {[]time.Duration{10 * minute, 10 * minute, 10 * minute}, 2000, "keep 0+1 for 1 at +10m0s"},
		"a half on one that is left":      {[]time.Duration{10 * minute, 30 * minute, 20 * minute}, 1500, "keep 500m of 0+2 for 1 at +20m0s"},
		"overdue, expected at any moment": {[]time.Duration{-minute, 30 * minute}, 1000, "keep 0 for 1 at +0s"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, len(c.ends))
			for i, end := range c.ends {
				if end != 0 {
					sc.runJob(job.ID(101+i), end, onGPUs(i)...)
				}
			}
			sc.queueJob(1, c.milli)
			sc.expect(c.want)
		})
	}
}

// With a depth of two, the second job that does not fit also gets a reservation. The plan for it
// assumes that the first job starts at its reserved start.
func TestDepth(t *testing.T) {
	for depth, want := range map[int]string{
		0: "start 3 on 1",
		1: "start 3 on 1, keep 0+1 for 1 at +30m0s",
		2: "start 3 on 1, keep 0+1 for 1 at +30m0s, keep 0+1 for 2 at +1h38m16s", // job 1 runs for 4096 s
	} {
		sc := newScene(t, 2)
		sc.s.Policy.ReservationDepth = depth
		sc.runJob(101, 30*minute, onGPUs(0)...)
		sc.queueJob(1, 2000)
		sc.queueJob(2, 2000)
		sc.queueJob(3, 1000, expected(15*minute))
		sc.expect(want)
	}
}

// If only the load of a GPU keeps a job from starting, the job gets no reservation: the load may
// drop at any moment.
func TestLoadKeepsNothing(t *testing.T) {
	sc := newScene(t, 1)
	sc.s.GPUs[0].LoadPercent = 90
	sc.queueJob(1, 1000, asks(func(r *job.Request) { r.MaxLoadPercent = 50 }))
	sc.queueJob(2, 1000)
	sc.expect("start 2 on 0")
}

// If a memory share was not requested in bytes, it may be smaller than asked for, by the slack. It
// must still not delay a job that requested bytes. Here job 1 needs exactly the memory that is free
// besides job 101 once job 102 has ended, and job 2 would leave less than that to job 1.
func TestSlackDelaysNobody(t *testing.T) {
	for slack, want := range map[int64]string{
		0:   "keep 250m of 0 for 1 at +30m0s",
		gib: "keep 250m of 0 for 1 at +30m0s",
	} {
		sc := newScene(t, 1)
		g := &sc.s.GPUs[0]
		g.MemFreeBytes, g.UsableBytes, g.SlackBytes = 79*gib, 79*gib, slack
		sc.runJob(101, 10*time.Hour, Grant{GPU: 0, Milli: 250, Bytes: 30 * gib})
		sc.runJob(102, 30*minute, Grant{GPU: 0, Milli: 250, Bytes: 30 * gib})
		sc.queueJob(1, 250, asks(func(r *job.Request) { r.GPUMemBytes = 30 * gib }))
		sc.queueJob(2, 250)
		sc.expect(want)
	}
}

// In TestReservationOfAnAdministrator a job asks for one of two GPUs. The second GPU is reserved
// for bob: the reservation begins in two hours and ends in five. Jobs of other users may use the
// GPU if, by their time limit, they end before the reservation begins. Jobs without a limit are
// assumed to run for a day.
func TestReservationOfAnAdministrator(t *testing.T) {
	limit := func(d time.Duration) func(*Waiting) { return asks(func(r *job.Request) { r.TimeLimit = job.Span(d) }) }
	lab := &Account{UID: -1, Name: "lab"}
	for name, c := range map[string]struct {
		from, to time.Duration
		change   func(*Waiting)
		want     string
	}{
		"ends before it begins":      {2, 5, limit(2 * time.Hour), "start 1 on 1"},
		"could run into it":          {2, 5, limit(2*time.Hour + 1), "keep 0 for 1 at +30m0s"},
		"has no limit":               {2, 5, func(*Waiting) {}, "keep 0 for 1 at +30m0s"},
		"has none, a day before":     {24, 30, func(*Waiting) {}, "start 1 on 1"},
		"the reservation has begun":  {-1, 5, limit(time.Minute), "keep 0 for 1 at +30m0s"},
		"it is over":                 {-2, 0, func(*Waiting) {}, "start 1 on 1"},
		"it is for the user":         {-1, 5, of(&Account{UID: 7}), "start 1 on 1"},
		"it is for the user's group": {-1, 5, of(&Account{UID: 8, Groups: []*Account{lab}}), "start 1 on 1"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 2)
			sc.runJob(101, 30*minute, onGPUs(0)...)
			r := sc.reserve(c.from*time.Hour, c.to*time.Hour, "for bob", 1)
			r.UIDs, r.Groups = []int{7}, []string{"lab"}
			sc.queueJob(1, 1000, c.change)
			sc.expect(c.want)
		})
	}
}

// TestForecast forecasts the starts of three jobs on two GPUs, one after the other. A job that
// never fits has no forecast.
func TestForecast(t *testing.T) {
	sc := newScene(t, 2)
	sc.runJob(101, 10*minute, onGPUs(0)...)
	sc.runJob(102, 30*minute, onGPUs(1)...)
	sc.s.GPUs = append(sc.s.GPUs, GPU{Index: 2, State: Paused})
	sc.queueJob(1, 2000, expected(1024*time.Second))
	sc.queueJob(2, 1000, expected(512*time.Second))
	sc.queueJob(3, 1000, expected(512*time.Second))
	sc.queueJob(4, 3000)
	got := startsOf(sc.p.Forecast(&sc.s, sc.q, nil))
	want := map[job.ID]time.Duration{1: 30 * minute, 2: 10 * minute, 3: 10*minute + 512*time.Second}
	if len(got) != len(want) {
		t.Errorf("foretold %v", got)
	}
	for id, after := range want {
		if got[id] != noon.Add(after) {
			t.Errorf("job %d at +%s, want +%s", id, time.Duration(got[id]-noon), after)
		}
	}
}
