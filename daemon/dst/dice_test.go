package dst

import (
	"math/rand/v2"
	"time"
)

// dice is the source of random numbers for one thing.
type dice struct{ pcg rand.PCG }

// roll returns the dice for one thing. The arguments, a word and numbers, identify the thing. Each
// run with the same seed gives the thing the same random numbers, whatever else happens.
func (w *World) roll(what string, keys ...uint64) *dice {
	h := uint64(14695981039346656037)
	for i := range len(what) {
		h = (h ^ uint64(what[i])) * 1099511628211
	}
	for _, k := range keys {
		h = mix(h ^ k)
	}
	d := &dice{}
	d.pcg.Seed(w.seed, h)
	return d
}

// mix spreads the bits of a number.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// n returns a number from 0 to n-1.
func (d *dice) n(n int) int { return int(d.pcg.Uint64() % uint64(max(n, 1))) }

// chance returns true with this probability.
func (d *dice) chance(p int) bool { return d.n(100) < p }

func (d *dice) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(d.pcg.Uint64()%uint64(hi-lo+1))
}

// shortTime returns a time that is usually short, and seldom a hundred times longer.
func (d *dice) shortTime(typical time.Duration) time.Duration {
	t := d.between(typical/10, 2*typical)
	if d.n(50) == 0 {
		t *= 100
	}
	return t
}

func pick[T any](d *dice, list ...T) T { return list[d.n(len(list))] }
