package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Ahead searches each bucket from both ends. The result is the same as that of a search that looks
// at each job.
func TestAheadCountsAsOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 60 {
		q, p := NewQueue(), NewPlanner()
		accounts := []*Account{{UID: 1, Name: "a"}, {UID: 2, Name: "b"}}
		bounded := atMost(r.IntN(2))
		for i := range 1 + r.IntN(120) {
			w := Waiting{
				ID: job.ID(i + 1), Account: accounts[r.IntN(2)], Since: Instant(r.Int64N(int64(time.Hour))), Expected: time.Hour, Count: 1,
				Request: &job.Request{GPUMilli: []int{1000, 2000}[r.IntN(2)], Priority: job.Priority{Number: r.IntN(2)}},
			}
			if round%2 == 0 && r.IntN(5) == 0 {
				w.Throttle = bounded
			}
			q.Push(w)
		}
		for id := range q.entries {
			if r.IntN(4) == 0 {
				q.Remove(id)
			}
		}
		s := &Snapshot{Now: Instant(2 * time.Hour), GPUs: []GPU{{State: OK}, {State: OK}}}
		for _, b := range q.buckets {
			n, throttled := 0, 0
			for e := b.head; e != nil; e = e.next {
				if n++; e.Throttle != nil {
					throttled++
				}
			}
			if n != b.len || throttled != b.bounded {
				t.Fatalf("a bucket counts %d and %d entries, and has %d and %d", b.len, b.bounded, n, throttled)
			}
		}
		for _, id := range q.IDs(nil) {
			for _, most := range []int{1, 10} {
				list, all := p.Ahead(s, q, id, most)
				want := p.aheadOneByOne(s, q, id)
				got := make([]job.ID, len(list))
				for i := range list {
					got[i] = list[i].ID
				}
				if all != len(want) || !slices.Equal(got, want[:min(most, len(want))]) {
					t.Fatalf("round %d, job %d: %v of %d go before it, want of %v", round, id, got, all, fmt.Sprint(want))
				}
			}
		}
	}
}

// aheadOneByOne looks at each job. It returns the jobs that go before the given job, in order.
func (p *Planner) aheadOneByOne(s *Snapshot, q *Queue, id job.ID) []job.ID {
	p.begin(s, q)
	e := q.entries[id]
	own := p.pass.cursor(e.bucket, e)
	var list []rank
	for _, b := range q.buckets {
		for e := b.head; e != nil; e = e.next {
			c := p.pass.cursor(b, e)
			if c.rank.isBefore(&own.rank) && e.Throttle.Full() == nil && b.shape.competesWith(own.bucket.shape.footprint) {
				list = append(list, c.rank)
			}
		}
	}
	return sorted(list)
}
