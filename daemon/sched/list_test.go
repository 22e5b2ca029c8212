package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A bucket keeps its jobs in the order of Since and id, in both directions and at each height,
// whatever jobs are added and removed.
func TestList(t *testing.T) {
	for seed := range drawing(100) {
		d := rand.New(rand.NewPCG(seed, 3))
		q, a, r := NewQueue(), &Account{UID: 1}, &job.Request{GPUMilli: 1000}
		since := map[job.ID]Instant{}
		for id := range job.ID(300) {
			since[id] = noon + Instant(d.IntN(100))
			q.Push(Waiting{ID: id, Request: r, Account: a, Since: since[id], Expected: time.Hour, Count: 1})
			if gone := job.ID(d.Int64N(int64(id) + 1)); d.IntN(3) == 0 {
				q.Remove(gone)
				delete(since, gone)
			}
		}
		var want []job.ID
		for id := range job.ID(300) {
			if _, ok := since[id]; ok {
				want = append(want, id)
			}
		}
		slices.SortStableFunc(want, func(a, b job.ID) int { return int(since[a] - since[b]) })
		if err := q.buckets[0].checkLinks(want); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, id := range want {
			q.Remove(id)
		}
		if len(q.buckets)+len(q.feet) > 0 {
			t.Fatalf("seed %d: an empty queue keeps %+v", seed, q)
		}
	}
}

// checkLinks checks the links of a bucket.
func (b *bucket) checkLinks(want []job.ID) error {
	for h := range maxHeight + 1 {
		var got []job.ID
		var last *entry
		for e := b.head; h == 0 && e != nil; last, e = e, e.next {
			if got = append(got, e.ID); e.prev != last {
				return fmt.Errorf("before job %d is not what it follows", e.ID)
			}
		}
		if h == 0 && last != b.tail {
			return fmt.Errorf("the tail is not job %d", last.ID)
		}
		for e := (*entry)(nil); h > 0 && h <= len(b.skips) && b.nextAt(e, h) != nil; {
			e = b.nextAt(e, h)
			got = append(got, e.ID)
		}
		high := slices.DeleteFunc(slices.Clone(want), func(id job.ID) bool { return height(id) < h })
		if !slices.Equal(got, high) {
			return fmt.Errorf("at height %d: %v, want %v", h, got, high)
		}
	}
	return nil
}

// BenchmarkRepredict gives new expected run times to most of 20 000 waiting jobs. The jobs move
// from one bucket to another, or from buckets with one job each to other such buckets. They move in
// the order of submission or in another order, and other jobs are between them.
func BenchmarkRepredict(b *testing.B) {
	const n = 20_000
	for _, x := range []struct {
		name  string
		step  int // the distance to the next job that moves
		shape func(i int) int64
	}{
		{"in order", 1, func(int) int64 { return 0 }},
		{"mixed", 7919, func(int) int64 { return 0 }},
		{"distinct", 1, func(i int) int64 { return int64(i) }},
	} {
		b.Run(x.name, func(b *testing.B) {
			q, a := NewQueue(), &Account{UID: 1}
			jobs := make([]Waiting, n)
			for i := range jobs {
				jobs[i] = Waiting{
					ID: job.ID(i + 1), Request: &job.Request{GPUMilli: 1000, MemBytes: x.shape(i)}, Account: a,
					Since: noon + Instant(i), Expected: time.Hour << (i % 2), Count: 1,
				}
				q.Push(jobs[i])
			}
			b.ReportAllocs()
			for round := 0; b.Loop(); round++ {
				for k := range n {
					w := &jobs[k*x.step%n]
					if w.ID%4 == 0 {
						continue
					}
					q.Remove(w.ID)
					w.Expected = time.Hour << ((round + int(w.ID)) % 2)
					q.Push(*w)
				}
			}
		})
	}
}
