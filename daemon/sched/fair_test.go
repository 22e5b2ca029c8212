package sched

import (
	"math"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// rivals are users of whom each always has so many jobs waiting.
type rivals struct {
	*loop
	users   []*Account
	backlog []int
	used    map[*Account]time.Duration // GPU time
	draw    func(*Account) (milli int, run time.Duration)
}

// compete runs for a time and returns what part of the GPU time each had.
func (r *rivals) compete(until time.Duration) (parts []float64) {
	r.used = map[*Account]time.Duration{}
	for i, u := range r.users {
		for range r.backlog[i] {
			r.another(u)
		}
	}
	r.ended = func(j *loopJob) { r.used[j.Account] += j.run * time.Duration(j.Request.GPUMilli) / job.WholeGPU }
	r.passed = func(p *Plan, _ []job.ID) {
		for _, x := range p.Place {
			r.another(r.jobs[x.Job-1].Account)
		}
	}
	r.until(noon.Add(until))
	sum := time.Duration(0)
	for _, d := range r.used {
		sum += d
	}
	for _, u := range r.users {
		parts = append(parts, float64(r.used[u])/float64(sum))
	}
	return parts
}

func (r *rivals) another(u *Account) {
	milli, run := r.draw(u)
	j := r.add(time.Duration(r.s.Now-noon)+time.Second, u, job.Request{GPUMilli: milli}, run)
	for i := len(r.coming) - 1; i > 0 && r.coming[i-1].came > j.came; i-- {
		r.coming[i], r.coming[i-1] = r.coming[i-1], r.coming[i]
	}
}

func newRivals(t *testing.T, seed uint64, shares, backlog []int) *rivals {
	r := &rivals{loop: newLoop(t, seed, 8, Policy{HalfLife: week, ReservationDepth: 1}), backlog: backlog}
	for i, share := range shares {
		r.users = append(r.users, &Account{UID: 1001 + i, Share: share})
	}
	r.draw = func(*Account) (int, time.Duration) {
		return oneOf(r.loop, 250, 1000, 1000, 2000, 4000), time.Duration(1+r.IntN(240)) * time.Minute
	}
	return r
}

// TestFairShare holds that two users who are alike and always have jobs waiting
// end within 5 percent of each other.
func TestFairShare(t *testing.T) {
	for seed := range drawing(3) {
		r := newRivals(t, seed, []int{1, 1}, []int{10, 10})
		parts := r.compete(40 * 24 * time.Hour)
		if d := math.Abs(parts[0]-parts[1]) / max(parts[0], parts[1]); d > 0.05 {
			t.Errorf("seed %d: parts %v differ by %.1f %%", seed, parts, 100*d)
		}
	}
}

// The one with the larger share has more of the machine.
func TestLargerShare(t *testing.T) {
	for seed := range drawing(2) {
		r := newRivals(t, seed, []int{1, 2, 8}, []int{10, 10, 10})
		if parts := r.compete(40 * 24 * time.Hour); parts[0] >= parts[1] || parts[1] >= parts[2] {
			t.Errorf("seed %d: shares of 1, 2 and 8 have the parts %.3f", seed, parts)
		}
	}
}
