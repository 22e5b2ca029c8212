package sched

import (
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// busyDay adds jobs of two users. Together the jobs ask for more than the machine has. Each job
// runs for a fraction of its expected run time.
func (l *loop) busyDay(part func() float64) {
	users := []*Account{{UID: 1001}, {UID: 1002}}
	for i := range 120 {
		r := job.Request{GPUMilli: oneOf(l, 0, 250, 500, 1000, 1000, 1500, 2000, 3000, 4000, 1000*len(l.s.GPUs))}
		r.GPUMilli = min(r.GPUMilli, 1000*len(l.s.GPUs))
		if r.GPUMilli > 0 && l.IntN(3) == 0 {
			r.GPUMemBytes = oneOf(l, 10*gib, 30*gib)
		}
		expected := time.Second << (4 + l.IntN(10))
		j := l.add(time.Duration(i)*5*time.Minute, oneOf(l, users...), r, expected)
		j.run = time.Duration(float64(expected) * part())
	}
}

// Jobs that start behind a reservation never delay it: while jobs end no later than expected, the
// start of the first reservation moves to a later time only if a job that goes before the reserved
// job has started.
func TestReservationNeverMovesLater(t *testing.T) {
	kept := 0
	for seed := range drawing(60) {
		l := newLoop(t, seed, 1+int(seed%8), Policy{FIFO: seed%2 == 0, HalfLife: week, ReservationDepth: 1 + int(seed%3)})
		l.busyDay(func() float64 { return oneOf(l, 0.1, 0.5, 1) })
		var last BackfillReservation
		l.passed = func(plan *Plan, order []job.ID) {
			if len(plan.Backfill) == 0 {
				return
			}
			k := plan.Backfill[0]
			at := slices.Index(order, k.Job)
			overtaken := slices.ContainsFunc(plan.Place, func(x Placement) bool { return slices.Index(order, x.Job) < at })
			if k.Job == last.Job && k.At > last.At && !overtaken {
				t.Errorf("seed %d: the reserved start of job %d moves from +%s to +%s", seed, k.Job, time.Duration(last.At-noon), time.Duration(k.At-noon))
			}
			last = k
			kept++
		}
		l.toTheEnd()
	}
	if !testing.Short() && kept < 2000 {
		t.Errorf("%d reservations only", kept)
	}
}

// With exact run times and no jobs that go before it, a job starts at the very moment that was
// first reserved for it. Preemptible jobs change nothing if they do not yield to others.
func TestReservedStartsOnTime(t *testing.T) {
	checked := 0
	for seed := range drawing(60) {
		l := newLoop(t, seed, 1+int(seed%8), Policy{FIFO: true, ReservationDepth: 1, Slice: 30 * time.Minute})
		l.busyDay(func() float64 { return 1 })
		for _, j := range l.jobs {
			j.Request.Preemptible = seed%3 == 0 && l.IntN(3) == 0
		}
		promised := map[job.ID]Instant{}
		l.passed = func(plan *Plan, _ []job.ID) {
			for _, k := range plan.Backfill {
				if promised[k.Job] == 0 {
					promised[k.Job] = k.At
				}
			}
		}
		l.toTheEnd()
		for id, at := range promised {
			if checked++; l.jobs[id-1].first != at {
				t.Errorf("seed %d: %s starts %s after its first reserved start", seed, l.jobs[id-1], time.Duration(l.jobs[id-1].first-at))
			}
		}
	}
	if !testing.Short() && checked < 500 {
		t.Errorf("%d reservations only", checked)
	}
}

// Jobs that differ only in the time at which they came start in the order in which they came.
func TestFirstComeAmongEquals(t *testing.T) {
	pairs := 0
	for seed := range drawing(30) {
		l := newLoop(t, seed, 1+int(seed%4), Policy{FIFO: seed%2 == 0, HalfLife: week, GuardAfter: 4 * time.Hour, GuardPercent: 50, ReservationDepth: int(seed % 3)})
		user := &Account{UID: 1001}
		for i := range 150 {
			r := job.Request{GPUMilli: oneOf(l, 250, 1000, 1000*len(l.s.GPUs)), Priority: job.Priority{Number: l.IntN(2)}}
			l.add(time.Duration(i)*10*time.Minute, user, r, oneOf(l, 10*time.Minute, time.Hour))
		}
		l.toTheEnd()
		for i, a := range l.jobs {
			for _, b := range l.jobs[i+1:] {
				if a.Request.GPUMilli == b.Request.GPUMilli && a.Request.Priority == b.Request.Priority && a.run == b.run {
					if pairs++; a.first > b.first {
						t.Errorf("seed %d: %s starts at +%s, and job %d, which came later, at +%s", seed, a, time.Duration(a.first-noon), b.ID, time.Duration(b.first-noon))
					}
				}
			}
		}
	}
	if !testing.Short() && pairs < 1000 {
		t.Errorf("%d pairs only", pairs)
	}
}
