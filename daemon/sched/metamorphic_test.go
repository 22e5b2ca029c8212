package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// If all times are 2 or 8 times as long, every start is 2 or 8 times as late. The order of the jobs
// depends on run times that are rounded up to powers of two seconds, so only powers of two scale
// exactly.
func TestScaledTimes(t *testing.T) {
	for seed := range drawing(20) {
		plain := scaled(t, seed, 1)
		for _, factor := range []time.Duration{2, 8} {
			other := scaled(t, seed, factor)
			for i, j := range plain.jobs {
				k := other.jobs[i]
				if time.Duration(k.first-noon) != factor*time.Duration(j.first-noon) || time.Duration(k.end-noon) != factor*time.Duration(j.end-noon) || k.stops != j.stops {
					t.Fatalf("seed %d, %d times: %s starts at +%s, and at +%s", seed, factor, j, time.Duration(j.first-noon), time.Duration(k.first-noon))
				}
			}
		}
	}
}

func scaled(t *testing.T, seed uint64, factor time.Duration) *loop {
	l := newLoop(t, seed, 1+int(seed%8), Policy{})
	l.anyPolicy()
	users := l.anyUsers()
	for i := range 60 {
		l.anyJob(time.Duration(i)*10*time.Minute, users)
	}
	l.tick *= factor
	p := &l.s.Policy
	p.HalfLife, p.GuardAfter, p.Slice = p.HalfLife*factor, p.GuardAfter*factor, p.Slice*factor
	lab := users[3].Groups[0]
	for _, a := range append(users, lab) {
		a.MaxUsage *= factor
	}
	for _, j := range l.jobs {
		j.came = noon + (j.came-noon)*Instant(factor)
		j.Since = j.came
		j.run, j.Expected = j.run*factor, j.Expected*factor
		j.Request.TimeLimit *= job.Span(factor)
	}
	l.toTheEnd()
	return l
}

// Except in a tie, the labels of GPUs decide nothing: if the GPUs are listed in another order, each
// job gets the same GPUs. Jobs ask for whole GPUs of one model, whose links have different weights,
// and for parts of GPUs of another model, each of which has a different share left.
func TestPermutedGPUs(t *testing.T) {
	placed := 0
	for seed := range drawing(500) {
		rng := rand.New(rand.NewPCG(seed, 5))
		perm := rng.Perm(10)
		a, b := newScene(t, 10), newScene(t, 10)
		shares := rng.Perm(997)
		for i, to := range perm {
			if i < 5 {
				a.s.GPUs[i].Model, b.s.GPUs[to].Model = "NVIDIA H100", "NVIDIA H100"
				share := 1 + shares[i]
				a.runJob(job.ID(101+i), hours(i), gpuShare(i, share))
				b.runJob(job.ID(101+i), hours(i), gpuShare(to, share))
			}
			for k, also := range perm[:i] {
				w := rng.Int32N(1 << 30)
				a.link(w, i, k)
				b.link(w, to, also)
			}
		}
		for id := range job.ID(6) {
			milli, model, spread := 1+rng.IntN(900), "h100", rng.IntN(2) == 0
			if id == 0 {
				milli, model = 1000*(1+rng.IntN(4)), "a100"
			}
			ask := asks(func(r *job.Request) { r.GPUType, r.Spread = model, spread })
			a.queueJob(id+1, milli, ask)
			b.queueJob(id+1, milli, ask)
		}
		got, want := "", ""
		for _, x := range a.p.Plan(&a.s, a.q).Place {
			want += printPermuted(x, perm)
			placed++
		}
		for _, x := range b.p.Plan(&b.s, b.q).Place {
			got += printPermuted(x, nil)
		}
		if got != want {
			t.Fatalf("seed %d: with the GPUs in the order %v %s, want %s", seed, perm, got, want)
		}
	}
	if !testing.Short() && placed < 500 {
		t.Errorf("%d placements only", placed)
	}
}

// printPermuted prints a placement with the labels permuted.
func printPermuted(x Placement, perm []int) string {
	list := slices.Clone(x.Grants)
	for i := range list {
		if perm != nil {
			list[i].GPU = perm[list[i].GPU]
		}
	}
	slices.SortFunc(list, func(a, b Grant) int { return a.GPU - b.GPU })
	return fmt.Sprintf(" %d on %s", x.Job, name(list))
}

func hours(n int) time.Duration { return time.Duration(n) * time.Hour }
