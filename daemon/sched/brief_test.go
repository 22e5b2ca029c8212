package sched

import "testing"

// TestBriefsAreUpToDate: what a pass reads of a bucket is what stands in it, whatever came
// and went, and a bucket that moved has its brief with it.
func TestBriefsAreUpToDate(t *testing.T) {
	for seed := range drawing(300) {
		d := draw(seed)
		p := NewPlanner()
		for _, id := range d.q.IDs(nil) {
			if p.Plan(&d.s, d.q); d.often(2) {
				d.q.Take(id)
			} else {
				d.q.Remove(id)
			}
			if len(d.q.briefs) != len(d.q.buckets) {
				t.Fatalf("seed %d: %d briefs of %d buckets", seed, len(d.q.briefs), len(d.q.buckets))
			}
			p.begin(&d.s, d.q)
			for at, b := range d.q.buckets {
				h := d.q.briefs[at]
				if h.account != b.account || h.amount != b.shape.amount || h.yields != b.shape.yields || p.standingOf(at) != p.standing(b) {
					t.Fatalf("seed %d: the brief %+v of the bucket %+v", seed, h, b.bucketKey)
				}
			}
		}
	}
}
