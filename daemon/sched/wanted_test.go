package sched

import (
	"slices"
	"testing"
)

// A GPU is wanted if a job that waits for whole GPUs could use it, and if no quota or throttle
// holds that job back.
func TestWantedGPUs(t *testing.T) {
	wanted := 0
	for seed := range drawing(3000) {
		d := draw(seed)
		NewPlanner().Ordered(&d.s, d.q, 0) // this begins a pass, which updates the accounts
		list := d.q.Wanted(&d.s, nil)
		r := newReference(&d.s, d.waiting)
		for i := range d.s.GPUs {
			g := &d.s.GPUs[i]
			serves := g.State != Paused && g.State != Drained && g.State != Lost && g.State != Suspect
			want := serves && slices.ContainsFunc(d.waiting, func(w *Waiting) bool {
				open := w.Throttle.Full() == nil
				return open && w.Request.Whole() > 0 && !r.capped(w) && r.couldServe(w, g)
			})
			if list[i] != want {
				t.Fatalf("seed %d: GPU %d is wanted: %t, want %t", seed, i, list[i], want)
			}
			if want {
				wanted++
			}
		}
	}
	if wanted == 0 {
		t.Error("no GPU was wanted")
	}
}

// couldServe reports whether the request allows the GPU and the GPU has enough memory.
func (r *reference) couldServe(w *Waiting, g *GPU) bool {
	q := w.Request
	named := len(q.GPUIDs) == 0 || slices.Contains(q.GPUIDs, g.Index)
	among := len(q.GPUIDs) > 0 || len(q.GPUsFrom) == 0 || slices.Contains(q.GPUsFrom, g.Index)
	typed := q.GPUType == "" || g.isType(q.GPUType)
	return named && among && typed && !slices.Contains(q.ExcludeGPUs, g.Index) && g.MemTotalBytes >= q.GPUMemBytes
}
