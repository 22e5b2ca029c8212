package job

import "testing"

// A part that chooses its GPU counts as a whole one in quotas, and nothing else does.
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
