package sched

import (
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// TestBatchOrder orders jobs of several batches. The jobs are submitted in the order of their ids,
// unless a row says otherwise.
func TestBatchOrder(t *testing.T) {
	in := func(batch string, milli int, run time.Duration) func(*Waiting) {
		return func(w *Waiting) { w.Batch, w.Request.GPUMilli, w.Expected = batch, milli, run }
	}
	high := asks(func(r *job.Request) { r.Priority = job.Priority{Class: job.High} })
	bob := of(&Account{UID: 7})
	also := func(list ...func(*Waiting)) func(*Waiting) {
		return func(w *Waiting) {
			for _, change := range list {
				change(w)
			}
		}
	}
	fair := Policy{HalfLife: week, GuardAfter: 10 * time.Hour, GuardPercent: 50}
	checkOrders(t, map[string]orderCase{
		"longest first":                     {fair, []func(*Waiting){in("b", 1000, minute), in("b", 1000, 8*minute), in("b", 1000, 4*minute)}, "[2 3 1]"},
		"the same in strict order":          {Policy{FIFO: true}, []func(*Waiting){in("b", 1000, minute), in("b", 1000, 8*minute), in("b", 1000, 4*minute)}, "[2 3 1]"},
		"widest first":                      {fair, []func(*Waiting){in("b", 1000, minute), in("b", 4000, minute), in("b", 2000, minute)}, "[2 3 1]"},
		"GPUs times time, then time":        {fair, []func(*Waiting){in("b", 2000, 64*time.Second), in("b", 1000, 128*time.Second), in("b", 4000, 64*time.Second)}, "[3 2 1]"},
		"finer than a power of two":         {fair, []func(*Waiting){in("b", 1000, 70*minute), in("b", 1000, 90*minute), in("b", 1000, 110*minute)}, "[3 2 1]"},
		"of one size as they came":          {fair, []func(*Waiting){in("b", 1000, time.Hour), in("b", 1000, time.Hour), in("b", 1000, time.Hour)}, "[1 2 3]"},
		"without a batch the short one":     {fair, []func(*Waiting){in("", 1000, time.Hour), in("", 1000, minute)}, "[2 1]"},
		"others keep their places":          {fair, []func(*Waiting){in("b", 1000, minute), also(in("", 1000, 2*minute), bob), in("b", 1000, time.Hour)}, "[2 3 1]"},
		"a batch does not carry a long job": {fair, []func(*Waiting){in("b", 1000, time.Hour), in("b", 1000, time.Second), in("b", 1000, time.Second), also(in("", 1000, minute), bob)}, "[4 1 2 3]"},
		"behind the last of the larger":     {Policy{FIFO: true}, []func(*Waiting){in("b", 1000, minute), also(in("", 1000, time.Hour), bob), in("b", 1000, time.Hour), also(in("", 1000, time.Hour), bob)}, "[2 3 1 4]"},
		"of two names":                      {Policy{FIFO: true}, []func(*Waiting){in("a", 1000, minute), in("b", 1000, time.Hour)}, "[1 2]"},
		"of two users":                      {Policy{FIFO: true}, []func(*Waiting){in("b", 1000, minute), also(in("b", 1000, time.Hour), bob)}, "[1 2]"},
		"of two classes":                    {Policy{FIFO: true}, []func(*Waiting){also(in("b", 1000, minute), high), in("b", 1000, time.Hour)}, "[1 2]"},
		"the guarded are in none": {fair, []func(*Waiting){
			also(in("b", 1000, minute), func(w *Waiting) { w.Since = ago(11 * time.Hour) }), in("b", 1000, time.Hour)}, "[1 2]"},
	})
}

// No job moves forward because it is in a batch: the jobs that went before it still do.
func TestBatchGainsNothing(t *testing.T) {
	p, moved := NewPlanner(), 0
	for seed := range drawing(5000) {
		d := draw(seed)
		owner := d.accounts[0]
		plain, batched := NewQueue(), NewQueue()
		inBatch := map[job.ID]bool{}
		for _, w := range d.waiting {
			x := *w
			inBatch[x.ID] = x.Account == owner && x.Batch != ""
			if x.Account != owner {
				x.Batch = ""
			}
			batched.Push(x)
			x.Batch = ""
			plain.Push(x)
		}
		before, after := p.Ordered(&d.s, plain, -1), p.Ordered(&d.s, batched, -1)
		for at, id := range before {
			for _, later := range before[at+1:] {
				passed := slices.Index(after, later) < slices.Index(after, id)
				if passed && !inBatch[id] {
					t.Fatalf("seed %d: job %d passes job %d by its batch: %v, and %v", seed, later, id, before, after)
				}
				if passed {
					moved++
				}
			}
		}
	}
	if moved < int(drawing(5000))/20 {
		t.Errorf("batches moved %d jobs only", moved)
	}
}

// A batch has few buckets, whatever the run times of its jobs. Once its jobs are gone, nothing of
// the batch remains.
func TestManyRunTimesInABatch(t *testing.T) {
	sc := newScene(t, 1)
	for i := range 20_000 {
		sc.queueJob(job.ID(i+1), 1000, func(w *Waiting) { w.Batch, w.Expected = "b", time.Duration(i*31)*time.Second })
	}
	if n := len(sc.q.buckets); n > 200 || len(sc.q.batches) != 1 {
		t.Errorf("%d buckets in %d batches", n, len(sc.q.batches))
	}
	for i := range 20_000 {
		sc.q.Remove(job.ID(i + 1))
	}
	if len(sc.q.buckets)+len(sc.q.batches)+len(sc.q.byBatch) != 0 {
		t.Errorf("an empty queue keeps %+v", sc.q)
	}
}
