package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/sim"
)

const lureRun = 20 * time.Hour

// lure is a user who submits a job of 20 hours every six hours, and before each so many runs of
// seconds of the same command, to make it look short; beside four users whose jobs of 1 to 4
// hours are nearly what the machine can do.
func lure(decoys int) sim.Trace {
	rng := rand.New(rand.NewPCG(1, 7))
	t := sim.Trace{Begin: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)}
	for at := time.Duration(0); at < 8*24*time.Hour; at += time.Minute {
		if rng.IntN(20) == 0 {
			user := fmt.Sprintf("user%d", 1+rng.IntN(4))
			run := time.Hour + time.Duration(rng.IntN(180))*time.Minute
			t.Jobs = append(t.Jobs, sim.Job{Submit: at, Run: run, GPUMilli: 1000, User: user, Kind: user})
		}
		run, minute := time.Duration(0), int(at%(6*time.Hour)/time.Minute)
		switch {
		case at < 24*time.Hour:
		case minute < decoys:
			run = 3 * time.Second
		case minute == 300:
			run = lureRun
		}
		if run > 0 {
			t.Jobs = append(t.Jobs, sim.Job{Submit: at, Run: run, GPUMilli: 1000, User: "lure", Kind: "lure"})
		}
	}
	return t
}

// Runs of seconds do not let long jobs of the same command pass everybody. Who submits none before a
// long job has 16 % of the GPU time, and each waits for three days. (Before what is expected of such a user
// was corrected ten of them were enough for 39 %, all that was asked, after half an hour.)
func TestShortRunsDoNotBuyLongOnes(t *testing.T) {
	o := options(t, "fair", 8)
	o.Check = false
	for _, decoys := range []int{0, 10, 100} {
		out, err := sim.Run(lure(decoys), o)
		if err != nil {
			t.Fatal(err)
		}
		wait, n := time.Duration(0), time.Duration(0)
		for i := range out.Jobs {
			if j := &out.Jobs[i]; j.Run == lureRun {
				wait += j.Wait
				n++
			}
		}
		own, all := out.GPUTime("lure", sim.Span{From: 24 * time.Hour, To: 8 * 24 * time.Hour})
		t.Logf("with %d runs of seconds each: %.3f of the GPU time, a long job waits %s", decoys, own/all, wait/n)
		if own/all > 1.0/3 || wait/n < 15*time.Hour {
			t.Errorf("with %d runs of seconds each: %.3f of the GPU time, a long job waits %s", decoys, own/all, wait/n)
		}
	}
}
