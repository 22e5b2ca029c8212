package job

import "testing"

// A request for a part of a GPU counts as a whole GPU in quotas only if it chooses the GPU.
func TestPartsThatChooseCountWhole(t *testing.T) {
	for name, choose := range map[string]func(*Request){
		"spread": func(r *Request) { r.Spread = true }, "ids": func(r *Request) { r.GPUIDs = []int{0} },
		"from": func(r *Request) { r.GPUsFrom = []int{0, 1} }, "but": func(r *Request) { r.ExcludeGPUs = []int{1} },
		"load": func(r *Request) { r.MaxLoadPercent = 1 }, "used": func(r *Request) { r.MaxUsedPercent = 1 },
	} {
		for milli, want := range map[int]int{10: 1000, 1500: 2000, 2000: 2000} {
			r := Request{GPUMilli: milli}
			if choose(&r); r.QuotaMilli() != want {
				t.Errorf("%s: %d counts for %d, want %d", name, milli, r.QuotaMilli(), want)
			}
			if r = (Request{GPUMilli: milli, GPUMemBytes: 5, GPUType: "a100"}); r.QuotaMilli() != milli {
				t.Errorf("%d counts for %d", milli, r.QuotaMilli())
			}
		}
	}
}

// A request for a part of a GPU counts with the part of the GPU's memory that it needs, if that is
// the larger part. The same holds if the request also asks for whole GPUs.
func TestMemoryCountsInQuotas(t *testing.T) {
	for _, c := range []struct{ milli, mem, want int }{
		{50, 990, 990}, {50, 20, 50}, {1500, 990, 1990}, {1500, 100, 1500}, {2000, 990, 2000}, {50, 5000, 1000},
	} {
		r := Request{GPUMilli: c.milli, Derived: Derived{MemMilli: c.mem}}
		if r.QuotaMilli() != c.want {
			t.Errorf("%d with memory of %d counts for %d, want %d", c.milli, c.mem, r.QuotaMilli(), c.want)
		}
		if r.Spread = true; r.QuotaMilli() != (c.milli+999)/1000*1000 {
			t.Errorf("%d that chooses counts for %d", c.milli, r.QuotaMilli())
		}
	}
}
