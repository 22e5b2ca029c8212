package sched

import (
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Under overload, jobs with better scores come without end. Even then, the wait of a job is
// bounded. First the job waits until it is guarded. Then it waits for the work of the guarded jobs
// before it, at the guard's part of the machine. Last it waits until running jobs have ended: once
// for itself and once for each job before it, since the guard earns no credit while no job is
// guarded.
func TestGuardBoundsTheWait(t *testing.T) {
	const gpus, longest = 8, 4 * time.Hour
	for seed := range drawing(15) {
		l := newLoop(t, seed, gpus, Policy{GuardAfter: 8 * time.Hour, GuardPercent: 50, ReservationDepth: 1, Slice: 30 * time.Minute})
		user := &Account{UID: 1001}
		for after := time.Duration(0); after < 4*24*time.Hour; after += time.Duration(1+l.IntN(13)) * time.Minute {
			milli, run := oneOf(l, 500, 1000, 1000, 1000), time.Duration(1+l.IntN(30))*time.Minute
			if l.IntN(20) == 0 {
				milli, run = oneOf(l, 4000, 8000), longest
			}
			l.add(after, user, job.Request{GPUMilli: milli}, run)
		}
		bounds := map[job.ID]Instant{}
		l.passed = func(_ *Plan, order []job.ID) { l.bound(order, longest, bounds) }
		l.toTheEnd()
		for id, bound := range bounds {
			if j := l.jobs[id-1]; j.first > bound {
				t.Errorf("seed %d: %s waited %s, %s longer than the bound", seed, j, j.waitTime(), time.Duration(j.first-bound))
			}
		}
		if len(bounds) < len(l.jobs)/50 {
			t.Errorf("seed %d: %d of %d jobs were guarded only", seed, len(bounds), len(l.jobs))
		}
	}
}

// bound computes, for each job that has just become guarded, the latest moment of its start.
func (l *loop) bound(order []job.ID, longest time.Duration, bounds map[job.ID]Instant) {
	debt, turns := -l.credit, 1
	for _, j := range l.running {
		if j.lane {
			debt += float64(j.end-l.s.Now) * j.gpus()
		}
	}
	slices.Sort(order) // by id, that is, in the order of submission
	for _, id := range order {
		j := l.jobs[id-1]
		if time.Duration(l.s.Now-j.Since) <= l.s.Policy.GuardAfter {
			continue
		}
		if bounds[id] == 0 {
			earns := float64(len(l.s.GPUs)) * float64(l.s.Policy.GuardPercent) / 100
			bounds[id] = l.s.Now.Add(time.Duration(debt/earns) + time.Duration(turns)*longest)
		}
		debt += float64(j.Expected) * j.gpus()
		turns++
	}
}
