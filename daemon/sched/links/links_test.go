package links

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// With up to 16 candidates, all sets are compared.
func TestSetOfSixteen(t *testing.T) {
	grown := 0
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 4))
		c := Chooser{GPUs: make([]GPU, maxExact), Links: make([]int32, maxExact*maxExact)}
		var all []int
		for a := range c.GPUs {
			all = append(all, a)
			for b := range a {
				weight := rng.Int32N(2)
				c.Links[a*maxExact+b], c.Links[b*maxExact+a] = weight, weight
			}
		}
		chosen := slices.Clone(c.Choose(all, 4))
		c.set = c.set[:0]
		if c.compareSets(all, 4); !slices.Equal(chosen, c.set) {
			t.Errorf("seed %d: %v, the best is %v", seed, chosen, c.set)
		}
		c.set = c.set[:0]
		if c.greedy(all, 4); !slices.Equal(chosen, c.set) {
			grown++
		}
	}
	if grown == 0 {
		t.Error("growing a set found the best each time")
	}
}
