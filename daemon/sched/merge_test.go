package sched

import (
	"slices"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// The first n jobs are in the same order as in the order of all jobs. So are any selected jobs.
func TestPartsOfTheOrder(t *testing.T) {
	p := NewPlanner()
	for seed := range drawing(300) {
		d := draw(seed)
		q := NewQueue()
		for _, w := range d.waiting {
			q.Push(*w)
		}
		all := p.Ordered(&d.s, q, -1)
		for n := range len(all) + 2 {
			if got := p.Ordered(&d.s, q, n); !slices.Equal(got, all[:min(n, len(all))]) {
				t.Fatalf("seed %d: the first %d of %v are %v", seed, n, all, got)
			}
		}
		some := slices.DeleteFunc(slices.Clone(all), func(id job.ID) bool { return id%2 == 0 })
		asked := slices.Sorted(slices.Values(append(some, 1_000_000)))
		if got := p.Arrange(&d.s, q, asked); !slices.Equal(got, slices.DeleteFunc(slices.Clone(all), func(id job.ID) bool { return id%2 == 0 })) {
			t.Fatalf("seed %d: %v of %v are in the order %v", seed, asked, all, got)
		}
		if len(all) > 0 && p.Forecast(&d.s, q, nil).Start(1_000_000) != (Range{}) {
			t.Fatalf("seed %d: of %v", seed, all)
		}
	}
}
