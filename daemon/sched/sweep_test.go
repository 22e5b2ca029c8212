package sched

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// fewRuns is the number of jobs of a kind that must have ended before the kind's run time counts as
// known, as in the core.
const fewRuns = 5

// learn notes the run time of an ended job, for predictions about other jobs of its kind.
func (l *loop) learn(j *loopJob) {
	if l.learned != nil {
		l.learned.Observe(j.kind, j.run, true, l.s.Now.Time())
	}
}

// applyEstimates updates the waiting jobs with the run times that were learned.
func (l *loop) applyEstimates() {
	if l.learned == nil {
		return
	}
	for _, j := range l.jobs {
		if !l.q.Has(j.ID) {
			continue
		}
		e := l.learned.Estimate(j.kind)
		j.Expected, j.Late = e.Total(j.served), e.Late(j.served)
		j.Effort, j.Untried = e.Effort(j.served, l.s.Policy.Slice), e.Ended < fewRuns
		j.Program = predict.Kind{UID: j.kind.UID, Milli: j.kind.Milli, Script: j.kind.Script}
		l.q.Remove(j.ID)
		l.q.Push(j.Waiting)
	}
}

func (l *loop) believeRunning(r *Running, j *loopJob) {
	if l.learned != nil {
		e := l.learned.Estimate(j.kind)
		r.Effort, r.Untried = e.Effort(j.served+r.runTimeAt(l.s.Now), l.s.Policy.Slice), e.Ended < fewRuns
	}
}

// sweep is a loop in which bob's jobs, which are all alike, have all GPUs, and more of bob's jobs
// wait. Then some jobs of alice's come. Each asks for as much as one job of bob's.
type sweep struct {
	*loop
	bob, alice *Account
	milli      int
	run        time.Duration
	words      bool // all jobs have different commands
	ended      int  // how many jobs of each kind had ended before
	priority   job.Priority
	askers     map[job.ID]int // how many jobs were stopped for each of alice's jobs
}

// newSweep returns a sweep on a machine. The argument wide is the number of GPUs.
func newSweep(t *testing.T, seed uint64, wide int, slice time.Duration) *sweep {
	policy := example(t, 1).s.Policy
	policy.Slice = slice
	w := &sweep{
		loop: newLoop(t, seed, wide, policy),
		bob:  &Account{UID: 1002, Name: "bob"}, alice: &Account{UID: 1001, Name: "alice"},
		milli: job.WholeGPU, run: 10 * slice, askers: map[job.ID]int{},
	}
	w.learned, w.tick, w.passed = predict.NewPredictor(nil), slice/4, w.judge
	return w
}

// submit adds n jobs of bob's, which arrive at the given time after noon.
func (w *sweep) submit(n int, after time.Duration) {
	for range n {
		j := w.add(after, w.bob, job.Request{GPUMilli: w.milli, Preemptible: true, Priority: w.priority}, w.run)
		j.kind = predict.Kind{UID: w.bob.UID, Milli: w.milli, Script: "sweep", Shape: "sweep"}
		if w.words {
			j.kind.Shape += fmt.Sprint(j.ID)
		}
		for range w.ended {
			w.learned.Observe(j.kind, w.run, true, noon.Time())
		}
	}
}

// ask adds one of alice's jobs.
func (w *sweep) ask(after time.Duration, change func(*job.Request), run time.Duration) *loopJob {
	r := job.Request{GPUMilli: w.milli, Priority: w.priority}
	change(&r)
	j := w.add(after, w.alice, r, run)
	j.kind = predict.Kind{UID: w.alice.UID, Milli: w.milli, Script: "ask", Shape: "ask"}
	w.askers[j.ID] = 0
	return j
}

// judge checks what gpusched-policy(7) says about sweeps. A job that was preempted preempts no job
// of its class and number, so jobs do not preempt each other in turn. For a job that asks for as
// much as one job of the sweep, only one job is stopped. While the run time of a sweep is unknown,
// none of its jobs is stopped for another of its jobs.
func (w *sweep) judge(plan *Plan, _ []job.ID) {
	for _, v := range plan.Preempt {
		victim, other := w.jobs[v.Victim-1], w.jobs[v.For-1]
		at := time.Duration(w.s.Now - noon)
		if other.stops > 0 && victim.Request.Priority == other.Request.Priority {
			w.Errorf("after %s %v is stopped for %v, which had been stopped for another", at, victim, other)
		}
		if victim.Account == w.bob && other.Account == w.bob && (w.untried(victim) || w.untried(other)) {
			w.Errorf("after %s %v is stopped for %v of the same sweep, and one is untried", at, victim, other)
		}
		if w.askers[v.For]++; w.askers[v.For] > 1 && other.stops == 0 {
			w.Errorf("after %s %v is one more that is stopped for %v", at, victim, other)
		}
	}
}

func (w *sweep) untried(j *loopJob) bool {
	e := w.learned.Estimate(j.kind)
	return e.Ended < fewRuns
}

// In TestRanBefore a preemptible job that ran before asks for some of four GPUs. Other jobs hold
// all four.
func TestRanBefore(t *testing.T) {
	readPolicy(t).hasSentence("A preemptible job that has run before and waits to run again does not stop another job of its class and number either, " +
		"except in these two cases.")
	for name, c := range map[string]struct {
		gpus   int
		change func(*Waiting)
		stops  bool
	}{
		"as wide":                    {1, preemptible, false},
		"it never ran":               {1, func(w *Waiting) { preemptible(w); w.Served = 0 }, true},
		"it may not be stopped":      {1, func(*Waiting) {}, true},
		"half of the GPUs":           {2, preemptible, false},
		"more":                       {3, preemptible, true},
		"a higher number":            {1, func(w *Waiting) { preemptible(w); w.Request.Priority.Number = 1 }, true},
		"one that waited for a week": {1, func(w *Waiting) { preemptible(w); w.Since = ago(8 * 24 * time.Hour) }, true},
	} {
		sc := example(t, 4)
		for gpu := range 4 {
			sc.runPreemptible(job.ID(101+gpu), nil, onGPUs(gpu)...)
		}
		sc.queueJob(1, c.gpus*job.WholeGPU, waited(3*time.Hour), func(w *Waiting) { w.Served = time.Hour }, c.change)
		if stops := strings.Contains(sc.plan(), "stop"); stops != c.stops {
			t.Errorf("%s: others are stopped: %t", name, stops)
		}
	}
}

// In TestOneStopForOneAsker one job of alice's arrives while bob's jobs have all GPUs.
func TestOneStopForOneAsker(t *testing.T) {
	for _, ended := range []int{0, 1, fewRuns, 20} {
		for _, words := range []bool{false, true} {
			for _, after := range []time.Duration{35 * minute, 70 * minute, 150 * minute} {
				for name, change := range map[string]func(*job.Request){
					"alike":           func(*job.Request) {},
					"preemptible":     func(r *job.Request) { r.Preemptible = true },
					"a higher class":  func(r *job.Request) { r.Priority.Class = job.High },
					"a higher number": func(r *job.Request) { r.Priority.Number = 1 },
				} {
					t.Run(fmt.Sprintf("%s, %d ended, words %t, after %s", name, ended, words, after), func(t *testing.T) {
						w := newSweep(t, 1, 4, 30*minute)
						w.words, w.ended = words, ended
						w.submit(4, 0)
						asker := w.ask(after, change, 20*minute)
						w.toTheEnd()
						stops := 0
						for _, j := range w.jobs {
							stops += j.stops
						}
						if stops != 1 || asker.stops > 0 {
							t.Errorf("%d stops, %d of them of the asker", stops, asker.stops)
						}
					})
				}
			}
		}
	}
}

// TestSweepsDoNotTakeTurns draws sweeps with more jobs than the machine has room for, and jobs that
// arrive while these sweeps run.
func TestSweepsDoNotTakeTurns(t *testing.T) {
	for seed := range drawing(150) {
		d := newLoop(t, seed, 1, Policy{})
		wide, slice := 1+d.IntN(2), []time.Duration{minute, 30 * minute, 2 * time.Hour}[d.IntN(3)]
		room := 1 + d.IntN(4)
		w := newSweep(t, seed, wide*room, slice)
		w.milli, w.run = wide*job.WholeGPU, slice*time.Duration(1+d.IntN(24))/2
		w.words, w.ended = d.IntN(2) == 0, []int{0, 1, fewRuns, 20}[d.IntN(4)]
		w.priority = job.Priority{Class: []job.Class{job.Scavenger, job.Low, job.Normal}[d.IntN(3)], Number: d.IntN(2)}
		w.submit(room, 0)
		w.submit(d.IntN(2*room+1), slice*time.Duration(d.IntN(8))/4)
		after := 2 * slice
		for range d.IntN(4) {
			after += slice * time.Duration(d.IntN(12)) / 4
			higher, preemptible, run := d.IntN(3), d.IntN(2) == 0, slice*time.Duration(1+d.IntN(12))/4
			w.ask(after, func(r *job.Request) {
				r.Preemptible = preemptible
				switch higher {
				case 1:
					r.Priority.Class = job.High
				case 2:
					r.Priority.Number++
				}
			}, run)
		}
		if w.toTheEnd(); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
