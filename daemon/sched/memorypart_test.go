package sched

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// MemoryPart computes which part of a GPU the requested memory is, rounded up to hundredths. It
// takes the smallest GPU that the request allows and that has enough memory. If no such GPU is
// known, the part is a whole GPU.
func TestMemoryPart(t *testing.T) {
	const gib = 1 << 30
	s := &Snapshot{GPUs: []GPU{
		{Index: 0, Model: "NVIDIA A100-SXM4-80GB", MemTotalBytes: 80 * gib},
		{Index: 1, Model: "NVIDIA A100-SXM4-40GB", MemTotalBytes: 40 * gib},
		{Index: 2, Model: "NVIDIA L4", MemTotalBytes: 24 * gib},
	}}
	for name, c := range map[string]struct {
		r    job.Request
		want int
	}{
		"no memory asked":     {job.Request{GPUMilli: 50}, 0},
		"whole GPUs":          {job.Request{GPUMilli: 2000, GPUMemBytes: 79 * gib}, 0},
		"no GPU":              {job.Request{GPUMemBytes: 79 * gib}, 0},
		"only the largest":    {job.Request{GPUMilli: 50, GPUMemBytes: 79 * gib}, 990},
		"the middle one":      {job.Request{GPUMilli: 50, GPUMemBytes: 30 * gib}, 750},
		"the smallest":        {job.Request{GPUMilli: 50, GPUMemBytes: 12 * gib}, 500},
		"beside a whole one":  {job.Request{GPUMilli: 1500, GPUMemBytes: 12 * gib}, 500},
		"of a type":           {job.Request{GPUMilli: 50, GPUMemBytes: 12 * gib, GPUType: "a100"}, 300},
		"one GPU":             {job.Request{GPUMilli: 50, GPUMemBytes: 12 * gib, GPUIDs: []int{0}}, 150},
		"a byte":              {job.Request{GPUMilli: 50, GPUMemBytes: 1}, 10},
		"more than there is":  {job.Request{GPUMilli: 50, GPUMemBytes: 90 * gib}, 1000},
		"all of the smallest": {job.Request{GPUMilli: 50, GPUMemBytes: 24 * gib}, 1000},
	} {
		if got := MemoryPart(s, &c.r); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	some := &job.Request{GPUMilli: 50, GPUMemBytes: 30 * gib, GPUsFrom: []int{2, 3}}
	for name, c := range map[string]struct {
		gpus []GPU
		want int
	}{
		"no GPU is known":          {nil, 0},
		"none is read":             {[]GPU{{Index: 3}}, 0},
		"one that may have enough": {append(s.GPUs[2:3:3], GPU{Index: 3, Model: "NVIDIA L4", State: Lost}), 0},
		"another is not read":      {append(s.GPUs[2:3:3], GPU{Index: 4}), job.WholeGPU},
	} {
		if got := MemoryPart(&Snapshot{GPUs: c.gpus}, some); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
