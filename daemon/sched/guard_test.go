package sched

import (
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// TestGuardBoundsTheWait holds that under more work than the machine can do,
// which for ever brings jobs with a better score, no job waits longer than until
// it is guarded, then for the work of the guarded ones before it at the lane's
// part of the machine, and until what runs has ended: once for itself and
// once for each before it, as the lane earns nothing more while it owes nothing.
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
				t.Errorf("seed %d: %s waited %s, %s longer than the bound", seed, j, j.wait(), time.Duration(j.first-bound))
			}
		}
		if len(bounds) < len(l.jobs)/50 {
			t.Errorf("seed %d: %d of %d jobs were guarded only", seed, len(bounds), len(l.jobs))
		}
	}
}

// bound computes for each job that has just become guarded when it must have
// started at the latest.
func (l *loop) bound(order []job.ID, longest time.Duration, bounds map[job.ID]Instant) {
	debt, turns := -l.credit, 1
	for _, j := range l.running {
		if j.lane {
			debt += float64(j.end-l.s.Now) * j.gpus()
		}
	}
	slices.Sort(order) // as they came
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
