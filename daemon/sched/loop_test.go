package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// loop is a machine with GPUs of 80 GiB under a virtual clock: jobs come, the planner decides, and
// jobs run for the time that the test gave them. Nothing else takes time: a job that is told to
// stop ends at once.
type loop struct {
	*testing.T
	*rand.Rand
	s       Snapshot
	q       *Queue
	p       *Planner
	jobs    []*loopJob
	coming  []*loopJob // sorted by arrival
	running []*loopJob // sorted by id
	credit  float64    // credit of the guard, in GPU-nanoseconds
	earned  Instant
	tick    time.Duration // the longest time between two plans while jobs wait
	passes  int
	capped  bool // time at quotas does not count as waiting, as in the core
	last    *Plan
	learned *predict.Predictor // gives the expected run times; nil: the real run times are expected

	passed func(*Plan, []job.ID) // called before each plan is carried out, with the plan and the order of the pass
	ended  func(*loopJob)
}

// loopJob is a job and what happens to it.
type loopJob struct {
	Waiting
	run    time.Duration // the real run time
	came   Instant
	start  Instant // start of the current run, or of the last one
	first  Instant // first start
	end    Instant
	grants []Grant
	served time.Duration
	stops  int
	lane   bool         // the current run was guarded
	kind   predict.Kind // the job's kind for predictions
}

func newLoop(t *testing.T, seed uint64, gpus int, policy Policy) *loop {
	l := &loop{
		T: t, Rand: rand.New(rand.NewPCG(seed, 9)), q: NewQueue(), p: NewPlanner(), earned: noon, tick: time.Hour,
		passed: func(*Plan, []job.ID) {}, ended: func(*loopJob) {},
	}
	l.s = Snapshot{Now: noon, Policy: policy, Machine: 1, Host: Host{GPUsSeen: true}}
	for i := range gpus {
		l.s.GPUs = append(l.s.GPUs, GPU{
			Index: i, Model: "NVIDIA H100", State: OK, MemTotalBytes: 80 * gib, MemFreeBytes: 80 * gib, UsableBytes: 80 * gib,
		})
	}
	return l
}

// add adds a job that arrives at the given time after noon, later than all jobs added before. The
// job runs for as long as expected.
func (l *loop) add(after time.Duration, a *Account, r job.Request, run time.Duration) *loopJob {
	j := &loopJob{Waiting: Waiting{ID: job.ID(len(l.jobs) + 1), Request: &r, Account: a, Expected: run, Count: 1}, run: run}
	j.came = noon.Add(after)
	j.Since = j.came
	l.jobs = append(l.jobs, j)
	l.coming = append(l.coming, j)
	return j
}

// toTheEnd runs the loop until all jobs have ended. If that never happens, the test fails.
func (l *loop) toTheEnd() {
	l.Helper()
	for idle := 0; len(l.coming)+len(l.running)+l.q.Len() > 0; {
		idle++
		if l.step(); len(l.running) > 0 {
			idle = 0
		}
		if idle > 2000+len(l.jobs) {
			l.Fatalf("%d jobs wait for ever", l.q.Len())
		}
	}
}

// runUntil runs the loop up to the given moment.
func (l *loop) runUntil(at Instant) {
	for l.next() <= at {
		l.step()
	}
}

// next returns the next moment at which something happens.
func (l *loop) next() Instant {
	at := Never
	if len(l.coming) > 0 {
		at = l.coming[0].came
	}
	for _, j := range l.running {
		at = min(at, j.end)
	}
	if l.q.Len() > 0 {
		at = min(at, l.s.Now.Add(l.tick))
	}
	return at
}

// step advances to the next moment at which something happens, and makes passes until a pass
// changes nothing.
func (l *loop) step() {
	l.s.Now = l.next()
	for _, j := range slices.Clone(l.running) {
		if j.end == l.s.Now {
			l.takeOff(j)
			l.learn(j)
			l.ended(j)
		}
	}
	for len(l.coming) > 0 && l.coming[0].came == l.s.Now {
		l.q.Push(l.coming[0].Waiting)
		l.coming = l.coming[1:]
	}
	for n := 0; l.pass(); n++ {
		if n > 100 {
			l.Fatalf("the planner is never content: %v starts, %v is stopped", l.last.Place, l.last.Preempt)
		}
	}
}

// pass makes a pass and carries out its plan. If there was nothing to do, pass returns false.
func (l *loop) pass() bool {
	if l.q.Len() == 0 {
		return false
	}
	l.passes++
	l.applyEstimates()
	l.fillSnapshot()
	order := l.p.Ordered(&l.s, l.q, -1)
	plan := l.p.Plan(&l.s, l.q)
	l.last = plan
	l.passed(plan, order)
	for _, v := range plan.Preempt {
		l.stop(l.jobs[v.Victim-1])
		l.markOwed(l.jobs[v.For-1])
	}
	for _, x := range plan.Place {
		l.begin(l.jobs[x.Job-1], x)
	}
	if l.capped {
		for a := range l.q.accounts {
			a.CountCapped(l.s.Now, l.s.Policy.FIFO)
		}
	}
	return len(plan.Place)+len(plan.Preempt) > 0
}

// markOwed gives a job precedence, because other jobs are stopped for it.
func (l *loop) markOwed(j *loopJob) {
	if !j.Owed {
		j.Owed = true
		l.q.Remove(j.ID)
		l.q.Push(j.Waiting)
	}
}

// fillSnapshot fills in the snapshot from the state of the loop.
func (l *loop) fillSnapshot() {
	s := &l.s
	s.Running = s.Running[:0]
	for _, j := range l.running {
		ran := time.Duration(s.Now - j.start)
		s.Running = append(s.Running, Running{
			ID: j.ID, Grants: j.grants, MemBytes: j.Request.MemBytes, Quota: j.Request.QuotaMilli(), Preemptible: j.Request.Preemptible, Priority: j.Request.Priority,
			Account: j.Account, Since: j.Since, Start: j.start, Expected: j.Expected,
			Served: j.served, Guarded: j.lane, End: s.Now.Add(predict.Remaining(j.Expected, j.served+ran)),
			Late: j.start.Add(j.Late - j.served), Program: j.Program, Untried: j.Untried,
		})
		l.believeRunning(&s.Running[len(s.Running)-1], j)
	}
	l.earn()
	s.GuardOpen = l.credit >= 0
}

// earn updates the guard's credit. The credit grows with the guard's part of the machine's time,
// and shrinks while guarded jobs run.
func (l *loop) earn() {
	rate := float64(len(l.s.GPUs)) * float64(l.s.Policy.GuardPercent) / 100
	for _, j := range l.running {
		if j.lane {
			rate -= j.gpus()
		}
	}
	l.credit = min(0, l.credit+rate*float64(l.s.Now-l.earned))
	l.earned = l.s.Now
}

func (l *loop) begin(j *loopJob, x Placement) {
	l.earn()
	l.q.Take(j.ID)
	j.Owed = false
	j.Since = j.Since.Add(j.Account.Capped(j.Request.QuotaMilli(), l.s.Now) - j.Capped)
	j.lane = x.Guarded
	j.grants, j.start, j.end = slices.Clone(x.Grants), l.s.Now, l.s.Now.Add(j.run-j.served)
	if j.first == 0 {
		j.first = j.start
	}
	for _, g := range j.grants {
		held := &l.s.GPUs[g.GPU].Held
		*held = append(*held, Hold{Job: j.ID, Milli: g.Milli, PromiseBytes: g.Bytes, Mates: g.Mates})
	}
	at, _ := slices.BinarySearchFunc(l.running, j.ID, func(o *loopJob, id job.ID) int { return int(o.ID - id) })
	l.running = slices.Insert(l.running, at, j)
	for _, a := range append([]*Account{j.Account}, j.Account.Groups...) {
		a.Start(j.Request.QuotaMilli(), j.rate(), l.s.Now, l.s.Policy.HalfLife)
	}
}

func (j *loopJob) gpus() float64 { return float64(j.Request.GPUMilli) / job.WholeGPU }

func (j *loopJob) rate() Rate { return gpuRate(j.Request.GPUMilli) }

// takeOff takes a running job off its GPUs.
func (l *loop) takeOff(j *loopJob) {
	l.earn()
	l.running = slices.DeleteFunc(l.running, func(o *loopJob) bool { return o == j })
	for _, g := range j.grants {
		held := &l.s.GPUs[g.GPU].Held
		*held = slices.DeleteFunc(*held, func(h Hold) bool { return h.Job == j.ID })
	}
	for _, a := range append([]*Account{j.Account}, j.Account.Groups...) {
		a.Finish(j.Request.QuotaMilli(), j.rate(), l.s.Now, l.s.Policy.HalfLife)
	}
	j.served += time.Duration(l.s.Now - j.start)
}

// stop requeues a running job. The time for which the job ran does not count as waiting, and the
// job continues where it stopped.
func (l *loop) stop(j *loopJob) {
	l.takeOff(j)
	j.stops++
	j.Since += l.s.Now - j.start
	j.Capped = j.Account.Capped(j.Request.QuotaMilli(), l.s.Now)
	j.Count, j.Served, j.Expected = 1, j.served, j.served+predict.Remaining(j.Expected, j.served)
	l.q.Push(j.Waiting)
}

// waitTime returns how long the job waited for its first start.
func (j *loopJob) waitTime() time.Duration { return time.Duration(j.first - j.came) }

func (j *loopJob) String() string {
	return fmt.Sprintf("job %d (%d milli, %s)", j.ID, j.Request.GPUMilli, j.run)
}
