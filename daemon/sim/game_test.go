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
//
// Where all may be stopped for others they gain no more: 15 % without, 15 % with ten and 19 % with a hundred.
func TestShortRunsDoNotBuyLongOnes(t *testing.T) {
	for _, policy := range []string{"fair", "fair-preempt"} {
		t.Run(policy, func(t *testing.T) { luring(t, policy) })
	}
}

func luring(t *testing.T, policy string) {
	o := options(t, policy, 8)
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

// doubled is a user whose jobs, one in so many, ask more than the one GPU that they need, beside four
// users whose jobs ask one; all of 1 to 12 hours, about what eight GPUs can do where each asks one. All may be
// stopped for others.
func doubled(seed uint64, one, milli int) sim.Trace {
	rng := rand.New(rand.NewPCG(seed, 8))
	t := sim.Trace{Begin: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)}
	for at := time.Duration(0); at < 8*24*time.Hour; at += 10 * time.Minute {
		run := time.Hour + time.Duration(rng.IntN(660))*time.Minute
		j := sim.Job{Submit: at, Run: run, GPUMilli: 1000, User: fmt.Sprintf("user%d", 1+rng.IntN(4)), Kind: "work"}
		if rng.IntN(one) == 0 {
			j.User, j.GPUMilli = "double", milli
		}
		if rng.IntN(100) < 22 {
			t.Jobs = append(t.Jobs, j)
		}
	}
	return t
}

// Who needs one GPU and asks two, or more than half of them, as a job is stopped sooner for a wider one,
// ends later than with one: the wider one waits longer for GPUs, and is charged for all of them.
func TestAskingMoreDoesNotPay(t *testing.T) {
	for _, one := range []int{5, 20} { // who has its part, and who uses little
		honest := time.Duration(0)
		for _, gpus := range []int{1, 2, 5} {
			end := time.Duration(0)
			for seed := range uint64(2) {
				end += endsOf(t, doubled(seed, one, gpus*1000)) / 2
			}
			t.Logf("one job in %d asks %d GPUs and ends after %s", one, gpus, end.Round(time.Minute))
			if honest = max(honest, end); end < honest {
				t.Errorf("one that asks %d GPUs ends after %s, with fewer after %s", gpus, end, honest)
			}
		}
	}
}

// endsOf is the mean completion time of the jobs of double.
func endsOf(t *testing.T, trace sim.Trace) time.Duration {
	o := options(t, "fair-preempt", 8)
	o.Check = false
	out, err := sim.Run(trace, o)
	if err != nil {
		t.Fatal(err)
	}
	sum, n := time.Duration(0), time.Duration(0)
	for i := range out.Jobs {
		if j := &out.Jobs[i]; j.User == "double" {
			sum += j.Completion()
			n++
		}
	}
	return sum / n
}
