package sched

import (
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// runPreemptible puts a preemptible job on GPUs. The job has run for an hour, which is more than
// the slice, and ends in five hours.
func (sc *scene) runPreemptible(id job.ID, change func(*Running), grants ...Grant) {
	r := sc.runJob(id, 5*time.Hour, grants...)
	r.Preemptible, r.Expected = true, 6*time.Hour
	if change != nil {
		change(r)
	}
}

// The functions class and number set the priority of a running job.
func class(c job.Class) func(*Running) { return func(r *Running) { r.Priority.Class = c } }
func number(n int) func(*Running)      { return func(r *Running) { r.Priority.Number = n } }

// In TestWhoYields a job of class high and number 0 asks for a GPU that another job holds.
func TestWhoYields(t *testing.T) {
	const kept = "keep 0 for 1 at +5h0m0s"
	for name, c := range map[string]struct {
		change func(*Running)
		want   string
	}{
		"a lower class":                     {class(job.Normal), kept + ", stop 101 for 1"},
		"a lower class, higher number":      {func(r *Running) { r.Priority = job.Priority{Class: job.Normal, Number: 9} }, kept + ", stop 101 for 1"},
		"the same class, a lower number":    {func(r *Running) { r.Priority = job.Priority{Class: job.High, Number: -1} }, kept + ", stop 101 for 1"},
		"the same of both, in strict order": {class(job.High), kept},
		"a higher number":                   {func(r *Running) { r.Priority = job.Priority{Class: job.High, Number: 1} }, kept},
		"a higher class":                    {class(job.Interactive), kept},
		"not preemptible":                   {func(r *Running) { r.Preemptible = false }, kept},
		"has not had its slice":             {func(r *Running) { r.Start = ago(29 * time.Minute) }, kept},
		"has just had it":                   {func(r *Running) { r.Start = ago(30 * time.Minute) }, kept + ", stop 101 for 1"},
		"stops already":                     {func(r *Running) { r.Stopping = true }, kept},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 1)
			sc.s.Policy.Slice = 30 * time.Minute
			sc.runPreemptible(101, c.change, onGPUs(0)...)
			sc.queueJob(1, 1000, asks(func(r *job.Request) { r.Priority.Class = job.High }))
			sc.expect(c.want)
		})
	}
}

// In TestHysteresis a job asks for a GPU of a running job of the same class and number. The running
// job started without a wait, so its score is 1. The waiting job's score must exceed 1, and must be
// higher by 0.5 for each doubling of the running job's width. The waiting job's expected run time
// is 4096 seconds.
func TestHysteresis(t *testing.T) {
	const kept = "keep 0 for 1 at +5h0m0s"
	for _, c := range []struct {
		gpus   int
		waited time.Duration
		stops  bool
	}{
		{1, 0, false},
		{1, time.Second, true},
		{2, 2048 * time.Second, false},
		{2, 2049 * time.Second, true},
		{4, 4096 * time.Second, false},
		{4, 4097 * time.Second, true},
	} {
		sc := newScene(t, c.gpus)
		sc.s.Policy.FIFO = false
		var held []Grant
		for gpu := range c.gpus {
			held = append(held, onGPUs(gpu)...)
		}
		sc.runPreemptible(101, nil, held...)
		sc.queueJob(1, 1000, func(w *Waiting) { w.Since = ago(c.waited) })
		want := kept
		if c.stops {
			want += ", stop 101 for 1"
		}
		sc.expect(want)
	}
}

// In TestLowerTogether a job with a score of 2 asks for several GPUs. Each GPU is free, or is held
// by a job with one of the listed scores.
func TestLowerTogether(t *testing.T) {
	const free, higher = 0, -1
	for name, c := range map[string]struct {
		milli  int
		scores []float64
		stops  bool
	}{
		"all lower":                           {4000, []float64{1, 1, 1, 1.9}, true},
		"one higher, lower together":          {4000, []float64{1, 1, 1, 4.9}, true},
		"higher together":                     {4000, []float64{1, 1, 1, 5.1}, false},
		"the highest is not needed":           {3000, []float64{2.1, 2.1, 1.5, 7.9}, true},
		"one as wide has to be lower":         {1000, []float64{2.1, 2.1, 2.1, 2.1}, false},
		"and it is":                           {1000, []float64{2.1, 2.1, 2.1, 1.9}, true},
		"none counts that is of a higher one": {4000, []float64{1, 1, 1, higher}, false},
		"beside free ones":                    {4000, []float64{free, free, 3.9, 4}, true},
		"beside free ones, too high":          {4000, []float64{free, free, 4, 4.1}, false},
		"beside free ones that it needs not":  {2000, []float64{free, 4.1, 4.1, 4.1}, false},
		"eight times as high":                 {16000, append(make([]float64, 15), 15.9), true},
		"more than that":                      {16000, append(make([]float64, 15), 16.1), false},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, len(c.scores))
			sc.s.Policy.FIFO, sc.s.Policy.ReservationDepth = false, 0
			for i, score := range c.scores {
				if score == free {
					continue
				}
				sc.runPreemptible(job.ID(101+i), func(r *Running) {
					if score == higher {
						r.Priority.Number = 1
					}
					r.Since = r.Start - Instant((score-1)*float64(5*time.Hour))
				}, onGPUs(i)...)
			}
			sc.queueJob(1, c.milli, func(w *Waiting) { w.Since = ago(4096 * time.Second) })
			if stops := strings.Contains(sc.plan(), "stop"); stops != c.stops {
				t.Errorf("jobs are stopped: %t", stops)
			}
		})
	}
}

// In TestGuaranteedTime a job asks for all GPUs. A job that ranks lower holds one of the GPUs, and
// runs again after it was preempted. It keeps its GPU for four slices, or for four times its
// earlier run time if that is less, but for at least a slice.
func TestGuaranteedTime(t *testing.T) {
	for name, c := range map[string]struct {
		served, ran time.Duration
		gpus        int
		change      func(*Waiting)
		stops       bool
	}{
		"never stopped":            {0, 30 * time.Minute, 1, nil, true},
		"stopped, a slice":         {time.Hour, 30 * time.Minute, 1, nil, false},
		"nearly its turn":          {time.Hour, 119 * time.Minute, 1, nil, false},
		"its turn":                 {time.Hour, 2 * time.Hour, 1, nil, true},
		"had run for days":         {99 * time.Hour, 2 * time.Hour, 1, nil, true},
		"had run for 10m, nearly":  {10 * time.Minute, 39 * time.Minute, 1, nil, false},
		"had run for 10m":          {10 * time.Minute, 40 * time.Minute, 1, nil, true},
		"had run for 1s, no slice": {time.Second, 29 * time.Minute, 1, nil, false},
		"had run for 1s":           {time.Second, 30 * time.Minute, 1, nil, true},
		"a higher class":           {time.Hour, 30 * time.Minute, 1, asks(func(r *job.Request) { r.Priority.Class = job.High }), true},
		"a higher number":          {time.Hour, 30 * time.Minute, 1, asks(func(r *job.Request) { r.Priority.Number = 1 }), true},
		"one that waited a week":   {time.Hour, 30 * time.Minute, 1, waited(8 * 24 * time.Hour), true},
		"a wider one":              {time.Hour, 30 * time.Minute, 2, nil, true},
		"a wider one, no slice":    {time.Hour, 29 * time.Minute, 2, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			sc := example(t, c.gpus)
			sc.runPreemptible(101, func(r *Running) { r.Served, r.Start, r.Since = c.served, ago(c.ran), ago(c.ran) }, onGPUs(0)...)
			sc.queueJob(1, c.gpus*job.WholeGPU, waited(time.Hour), func(w *Waiting) {
				if c.change != nil {
					c.change(w)
				}
			})
			if stops := strings.Contains(sc.plan(), "stop 101 for 1"); stops != c.stops {
				t.Errorf("it is stopped: %t", stops)
			}
		})
	}
}

// In TestGuaranteedTimeAndWiderJobs a job asks for some of four GPUs. A job that has guaranteed
// time left holds one of the GPUs. Jobs that can't be stopped hold some others. The rest of the
// GPUs are free, out of service, or of another type.
func TestGuaranteedTimeAndWiderJobs(t *testing.T) {
	for _, c := range []struct {
		asks, used   int
		drained, old int
		stops        bool
	}{
		{2, 2, 0, 0, false},
		{3, 1, 0, 0, true},
		{4, 0, 0, 0, true},
		{2, 1, 1, 0, true},
		{2, 0, 2, 0, true},
		{2, 1, 0, 1, true},
	} {
		sc := example(t, 4)
		sc.runPreemptible(101, func(r *Running) { r.Served, r.Since = time.Hour, r.Start }, onGPUs(0)...)
		for gpu := range c.used {
			sc.runJob(job.ID(102+gpu), 5*time.Hour, onGPUs(1+gpu)...)
		}
		for i := 4 - c.drained; i < 4; i++ {
			sc.s.GPUs[i].State = Drained
		}
		for i := 4 - c.old; i < 4; i++ {
			sc.s.GPUs[i].Model = "Tesla T4"
		}
		sc.queueJob(1, c.asks*job.WholeGPU, waited(time.Hour), asks(func(r *job.Request) { r.GPUType = "a100" }))
		if stops := strings.Contains(sc.plan(), "stop 101 for 1"); stops != c.stops {
			t.Errorf("%+v: it is stopped: %t", c, stops)
		}
	}
}

// In TestGuaranteedTimeBehindAReservation one GPU is free for an hour. Job 1 needs the GPU after
// that hour, together with host memory that another job holds until then. Meanwhile a preemptible
// job gets the GPU if its guaranteed time ends within the hour.
func TestGuaranteedTimeBehindAReservation(t *testing.T) {
	for served, starts := range map[time.Duration]bool{0: true, 14 * time.Minute: true, 16 * time.Minute: false, time.Hour: false} {
		sc := example(t, 1)
		sc.s.Host.MemBytes, sc.s.Host.PromisedMem = 8*gib, 8*gib
		sc.runJob(101, time.Hour).MemBytes = 8 * gib
		sc.queueJob(1, 1000, waited(9*time.Hour), asks(func(r *job.Request) { r.MemBytes = 8 * gib }))
		sc.queueJob(2, 1000, waited(time.Minute), preemptible, expected(9*time.Hour), func(w *Waiting) { w.Served = served })
		if got := strings.Contains(sc.plan(), "start 2 on 0"); got != starts {
			t.Errorf("one that ran for %s starts: %t", served, got)
		}
	}
}

// In TestGuardAndVictims a job with a much higher score asks for the GPU of a job that started
// guarded. In other rows, a guarded job asks for the GPU of a job with a much higher score.
func TestGuardAndVictims(t *testing.T) {
	old := func(w *Waiting) { w.Since, w.Expected = ago(11*time.Hour), 1000*time.Hour } // the score of such jobs is 1
	urgent := func(w *Waiting) { w.Expected = time.Second }
	high := asks(func(r *job.Request) { r.Priority.Class = job.High })
	for name, c := range map[string]struct {
		open    bool
		guarded bool // the running job is guarded
		waited  time.Duration
		change  func(*Waiting)
		stops   bool
	}{
		"a higher score":                       {true, false, 0, urgent, true},
		"a guarded one stays":                  {true, true, 0, urgent, false},
		"but not where the lane is closed":     {false, true, 0, urgent, true},
		"nor before a higher class":            {true, true, 0, high, true},
		"a guarded one comes, whatever scores": {true, false, 5 * time.Hour, old, true},
		"but not where it is closed":           {false, false, 5 * time.Hour, old, false},
		"nor for another guarded one":          {true, true, 5 * time.Hour, old, false},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 1)
			sc.s.Policy = Policy{GuardAfter: 10 * time.Hour, GuardPercent: 50}
			sc.s.GuardOpen = c.open
			sc.runPreemptible(101, func(r *Running) { r.Guarded, r.Since = c.guarded, r.Start-Instant(c.waited) }, onGPUs(0)...)
			sc.queueJob(1, 1000, c.change)
			want := "wait"
			if c.stops {
				want = "stop 101 for 1"
			}
			sc.expect(want)
		})
	}
}

// In TestWhichVictims a job of class high asks for whole GPUs that other jobs hold. The jobs with
// the lowest ranks are stopped, and no more of them than needed.
func TestWhichVictims(t *testing.T) {
	for name, c := range map[string]struct {
		milli int
		want  string
	}{
		"the lowest":              {1000, "stop 103 for 1"},
		"and the next":            {2000, "stop 103 for 1, stop 102 for 1"},
		"without those too small": {3000, "stop 103 for 1, stop 101 for 1"},
		"all":                     {4000, "stop 103 for 1, stop 102 for 1, stop 101 for 1"},
		"all would not be enough": {5000, "wait"},
		"a part is enough":        {500, "stop 103 for 1"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 5)
			sc.s.Policy.ReservationDepth = 0
			sc.runPreemptible(101, nil, onGPUs(0, 1)...)
			sc.runPreemptible(102, number(-1), onGPUs(2)...)
			sc.runPreemptible(103, class(job.Scavenger), onGPUs(3)...)
			sc.runJob(104, time.Hour, onGPUs(4)...)
			sc.queueJob(1, c.milli, asks(func(r *job.Request) { r.Priority.Class = job.High }))
			sc.expect(c.want)
		})
	}
}

// If a job with a higher rank must be stopped anyway and is enough by itself, no job with a lower
// rank is stopped. Here the waiting job asks for two of GPUs 0, 2 and 3, and job 101 has only one
// of these. A GPU that was freed for one job is not free for the next job.
func TestNoUselessVictim(t *testing.T) {
	sc := newScene(t, 4)
	sc.s.Policy.ReservationDepth = 0
	sc.runPreemptible(101, class(job.Scavenger), onGPUs(0)...)
	sc.runPreemptible(102, nil, onGPUs(2, 3)...)
	sc.runJob(103, time.Hour, onGPUs(1)...)
	sc.queueJob(1, 2000, asks(func(r *job.Request) { r.Priority.Class, r.GPUsFrom = job.High, []int{0, 2, 3} }))
	sc.expect("stop 102 for 1")
	sc.queueJob(2, 2000, asks(func(r *job.Request) { r.Priority.Class, r.GPUIDs = job.Interactive, []int{2, 3} }))
	sc.expect("stop 102 for 2")
}

// In TestLateVictims a job of class high asks for GPUs of other jobs. Job 101 ranks lowest, and
// each row says how long it takes to stop. The slice is half an hour, so a victim leaves late if it
// takes more than three minutes to stop.
func TestLateVictims(t *testing.T) {
	for name, c := range map[string]struct {
		notice time.Duration // of job 101
		other  time.Duration // of jobs 102 and 103
		asked  int           // the GPUs that the waiting job asks for, in thousandths
		told   bool          // job 101 was told to stop before
		want   string
	}{
		"waits for one that goes soon":    {3 * time.Minute, 0, 1000, false, "stop 101 for 1"},
		"has another go before":           {4 * time.Minute, 0, 1000, false, "stop 101 for 1, stop 102 for 1"},
		"that one is late too":            {4 * time.Minute, 4 * time.Minute, 1000, false, "stop 101 for 1"},
		"as many as are needed":           {time.Hour, 0, 2000, false, "stop 101 for 1, stop 102 for 1, stop 103 for 1"},
		"the others are not enough":       {time.Hour, 0, 3000, false, "stop 101 for 1, stop 102 for 1, stop 103 for 1"},
		"has been told, goes soon":        {3 * time.Minute, 0, 1000, true, "wait"},
		"has been told, another is first": {time.Hour, 0, 1000, true, "stop 102 for 1"},
		"has been told, no other goes":    {time.Hour, time.Hour, 1000, true, "wait"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 3)
			sc.s.Policy.ReservationDepth, sc.s.Policy.Slice = 0, 30*time.Minute
			sc.runPreemptible(101, func(r *Running) {
				r.Priority.Class, r.Notice, r.Stopping = job.Scavenger, c.notice, c.told
			}, onGPUs(0)...)
			sc.runPreemptible(102, func(r *Running) { r.Priority.Number, r.Notice = -1, c.other }, onGPUs(1)...)
			sc.runPreemptible(103, func(r *Running) { r.Notice = c.other }, onGPUs(2)...)
			sc.queueJob(1, c.asked, asks(func(r *job.Request) { r.Priority.Class = job.High }))
			sc.expect(c.want)
		})
	}
}

// GPUs of jobs that were told to stop, and GPUs that are being cleaned, count as free: no further
// job is stopped.
func TestStoppingCountsAsFree(t *testing.T) {
	high := asks(func(r *job.Request) { r.Priority.Class = job.High })
	sc := newScene(t, 2)
	sc.s.Policy.ReservationDepth = 0
	sc.runPreemptible(101, func(r *Running) { r.Stopping, r.End = true, noon.Add(30*time.Second) }, onGPUs(0)...)
	sc.runPreemptible(102, nil, onGPUs(1)...)
	sc.queueJob(1, 1000, high)
	sc.expect("wait")
	sc.queueJob(2, 1000, high) // the first job gets the GPU that is being freed
	sc.expect("stop 102 for 2")

	sc = newScene(t, 2)
	sc.s.Policy.ReservationDepth = 0
	sc.s.GPUs[0].State, sc.s.GPUs[0].ReadyAt = Cleaning, noon.Add(time.Second)
	sc.runPreemptible(102, nil, onGPUs(1)...)
	sc.queueJob(1, 1000, high)
	sc.expect("wait")
	sc.s.GPUs[0].ReadyAt = 0 // nobody knows when the GPU is ready
	sc.expect("stop 102 for 1")
}

// In TestOneGangAtATime jobs of class high ask for GPUs that scavengers hold. Each row lists how many
// GPUs they ask for, in order, and how many scavengers were told to stop already.
func TestOneGangAtATime(t *testing.T) {
	readPolicy(t).hasSentence("Jobs are stopped for one job of several GPUs at a time.")
	for name, c := range map[string]struct {
		asked    []int
		stopping int
		want     string
	}{
		"two of several GPUs":        {[]int{2, 2}, 0, "stop 106 for 1, stop 105 for 1"},
		"the first has its victims":  {[]int{2, 2}, 2, "wait"},
		"and needs one more":         {[]int{3, 2}, 2, "stop 106 for 1"},
		"the first can have nothing": {[]int{7, 2}, 0, "stop 106 for 2, stop 105 for 2"},
		"of one GPU each":            {[]int{1, 1, 1}, 0, "stop 106 for 1, stop 105 for 2, stop 104 for 3"},
		"one has its victim":         {[]int{1, 1}, 1, "stop 106 for 2"},
		"several behind one":         {[]int{1, 2, 1}, 0, "stop 106 for 1"},
		"one behind several":         {[]int{2, 1}, 0, "stop 106 for 1, stop 105 for 1"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 6)
			sc.s.Policy.ReservationDepth = 0
			for i := range 6 {
				sc.runPreemptible(job.ID(101+i), class(job.Scavenger), onGPUs(i)...)
				sc.s.Running[i].Stopping = i < c.stopping
			}
			for i, n := range c.asked {
				sc.queueJob(job.ID(1+i), n*job.WholeGPU, asks(func(r *job.Request) { r.Priority.Class = job.High }))
			}
			sc.expect(c.want)
		})
	}
}

// In TestCostOfStops a job asks for two GPUs that jobs of its class and number hold. Going on costs
// those 5 minutes each, and one of them takes 5 minutes to stop.
func TestCostOfStops(t *testing.T) {
	readPolicy(t).hasSentence("Stops for jobs of the same class and number cost at most 3 %% of the GPU time that jobs get.")
	for name, c := range map[string]struct {
		may    time.Duration
		change func(*Running)
		stops  bool
	}{
		"as much as it costs": {15 * time.Minute, nil, true},
		"less":                {15*time.Minute - 1, nil, false},
		"a debt":              {-time.Hour, nil, false},
		"of a lower number":   {-time.Hour, number(-1), true},
	} {
		sc := newScene(t, 2)
		sc.s.Policy.FIFO, sc.s.Policy.RestartCost, sc.s.ForStops = false, 5*time.Minute, c.may
		sc.runPreemptible(101, c.change, onGPUs(0)...)
		sc.runPreemptible(102, c.change, onGPUs(1)...)
		sc.s.Running[1].Notice = 5 * time.Minute
		sc.queueJob(1, 2000, waited(time.Hour))
		if got := sc.plan(); strings.Contains(got, "stop 101 for 1") != c.stops {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A plan may change though nothing happened: when a running job has run for a slice, each minute
// after that, and when an advance reservation begins or ends.
func TestWake(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*scene)
		want Instant
	}{
		"nobody may be stopped": {func(sc *scene) { sc.runJob(101, time.Hour, onGPUs(0)...) }, Never},
		"has not had its slice": {func(sc *scene) {
			sc.runPreemptible(101, func(r *Running) { r.Start = ago(10 * time.Minute) }, onGPUs(0)...)
		}, noon.Add(20 * time.Minute)},
		"has had it":             {func(sc *scene) { sc.runPreemptible(101, nil, onGPUs(0)...) }, noon.Add(time.Minute)},
		"a reservation to begin": {func(sc *scene) { sc.reserve(2*time.Hour, 3*time.Hour, "", 0) }, noon.Add(2 * time.Hour)},
		"one to end":             {func(sc *scene) { sc.reserve(-2*time.Hour, 3*time.Hour, "", 0) }, noon.Add(3 * time.Hour)},
	} {
		sc := newScene(t, 1)
		sc.s.Policy.FIFO, sc.s.Policy.Slice = false, 30*time.Minute
		c.set(sc)
		sc.queueJob(1, 2000)
		if got := sc.p.Plan(&sc.s, sc.q).Wake; got != c.want {
			t.Errorf("%s: wake at +%s, want +%s", name, time.Duration(got-noon), time.Duration(c.want-noon))
		}
	}
}
