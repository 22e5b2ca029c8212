package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// link connects each of the given GPUs of a scene with each other one.
func (sc *scene) link(weight int32, gpus ...int) {
	n := len(sc.s.GPUs)
	if len(sc.s.Links) == 0 {
		sc.s.Links = make([]int32, n*n)
	}
	for _, a := range gpus {
		for _, b := range gpus {
			if a != b {
				sc.s.Links[a*n+b] = weight
			}
		}
	}
}

// chooseSet chooses whole GPUs of the scene.
func (sc *scene) chooseSet(list []int, n int) []int {
	sc.p.pass.s, sc.p.pass.q = &sc.s, sc.q
	sc.p.choice.begin()
	return sc.p.choice.links.Choose(list, n)
}

// TestIslands places jobs on eight GPUs. GPUs 0 to 3 have fast links among themselves, and so have
// GPUs 4 to 7. The pairs 0 and 1, 2 and 3 and so on have the fastest links.
func TestIslands(t *testing.T) {
	for name, c := range map[string]struct {
		busy  []int
		milli int
		ask   func(*job.Request)
		want  string
	}{
		"a pair":                           {nil, 2000, nil, "0+1"},
		"an island":                        {nil, 4000, nil, "0+1+2+3"},
		"the other island":                 {[]int{2}, 4000, nil, "4+5+6+7"},
		"a pair that is whole":             {[]int{1}, 2000, nil, "2+3"},
		"one, where no pair is broken":     {[]int{5}, 1000, nil, "4"},
		"three of the broken island":       {[]int{1}, 3000, nil, "0+2+3"},
		"across islands when it must be":   {[]int{0, 1, 4, 5}, 3000, nil, "2+3+6"},
		"all that there are":               {[]int{0, 4}, 6000, nil, "1+2+3+5+6+7"},
		"the named ones, whatever links":   {nil, 2000, func(r *job.Request) { r.GPUIDs = []int{1, 6} }, "1+6"},
		"the best of those that are named": {nil, 2000, func(r *job.Request) { r.GPUsFrom = []int{1, 3, 6, 7} }, "6+7"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 8)
			sc.link(1, 0, 1, 2, 3, 4, 5, 6, 7)
			sc.link(5, 0, 1, 2, 3)
			sc.link(5, 4, 5, 6, 7)
			for i := 0; i < 8; i += 2 {
				sc.link(9, i, i+1)
			}
			for i, g := range c.busy {
				sc.runJob(job.ID(101+i), time.Hour, onGPUs(g)...)
			}
			sc.queueJob(1, c.milli, func(w *Waiting) {
				if c.ask != nil {
					c.ask(w.Request)
				}
			})
			sc.expect("start 1 on " + c.want)
		})
	}
}

// TestSetIsTheBestOfAll compares the choice among up to 10 GPUs with all possible sets. The best
// set has the fewest GPUs with foreign processes, then the heaviest links inside, then the heaviest
// links among the other GPUs, then the lowest positions.
func TestSetIsTheBestOfAll(t *testing.T) {
	for seed := range drawing(2000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		sc := newScene(t, 1+rng.IntN(10))
		list := sc.randomLinks(rng, []int32{0, 1, 1, 8, int32(rng.IntN(100))})
		n := 1 + rng.IntN(len(list))
		got := slices.Clone(sc.chooseSet(list, n))
		ref := &reference{s: &sc.s}
		var best []int
		var worth [3]int64
		subsets(list, n, func(set []int) {
			if v := ref.worthOf(list, set); best == nil || slices.Compare(v[:], worth[:]) > 0 {
				best, worth = slices.Clone(set), v
			}
		})
		if !slices.Equal(got, best) {
			t.Fatalf("seed %d: %d of %v by %v: got %v, the best is %v", seed, n, list, sc.s.Links, got, best)
		}
	}
}

// randomLinks connects all GPUs with weights from a list, and puts foreign processes on some GPUs.
// It returns some of the GPUs as candidates.
func (sc *scene) randomLinks(rng *rand.Rand, weights []int32) (list []int) {
	n := len(sc.s.GPUs)
	for a := range n {
		sc.s.GPUs[a].Foreign = rng.IntN(4) == 0
		for b := range a {
			sc.link(weights[rng.IntN(len(weights))], a, b)
		}
		if rng.IntN(4) > 0 {
			list = append(list, a)
		}
	}
	if len(list) == 0 || n == 1 {
		list = []int{0}
	}
	sc.link(0, 0)
	return list
}

// If there are more than 16 candidates, the set is found by growing and swapping. Whole islands are
// still found.
func TestIslandsOfALargeMachine(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	for want, n := range map[string]int{"[0 1 2 3]": 4, "[0 1 2 3 4 5 6 7]": 8, "[0 1 2 3 4 5]": 6} {
		sc := newScene(t, len(all))
		sc.link(1, all...)
		if got := len(sc.chooseSet(all, n)); got != n {
			t.Errorf("%d GPUs that are all alike: %d", n, got)
		}
		for island := range slices.Chunk(all, 4) {
			sc.link(9, island...)
		}
		if got := fmt.Sprint(sc.chooseSet(all, n)); got != want {
			t.Errorf("%d of %d GPUs: %s, want %s", n, len(all), got, want)
		}
	}
}
