package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/sim"
)

const lureRun = 20 * time.Hour

// lure returns a trace in which one user submits a job of 20 hours every six hours. Before each of
// these jobs, the user submits a number of runs of the same command that take seconds, so that the
// job seems short. Jobs of four other users, 1 to 4 hours long, nearly fill the machine.
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

// Runs of seconds do not let long jobs of the same command pass all others. A user without such
// runs gets 16 % of the GPU time, and each long job waits for three days. (Before the estimate for
// such users was corrected, ten short runs were enough: the user got all that was requested, 39 %,
// after waits of half an hour.) If all jobs are preemptible, the user gets about as much: 15 %
// without short runs, 15 % with ten and 19 % with a hundred.
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

// doubledTrace returns a trace of five users whose jobs need one GPU. The user named double has
// about 1/spacing of the jobs. Each of these requests milli/1000 of a GPU. The jobs of the four
// other users request one GPU. All jobs take 1 to 12 hours. If each requested one GPU, they would
// together need about eight GPUs. All jobs are preemptible.
func doubledTrace(seed uint64, spacing, milli int) sim.Trace {
	rng := rand.New(rand.NewPCG(seed, 8))
	t := sim.Trace{Begin: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)}
	for at := time.Duration(0); at < 8*24*time.Hour; at += 10 * time.Minute {
		run := time.Hour + time.Duration(rng.IntN(660))*time.Minute
		j := sim.Job{Submit: at, Run: run, GPUMilli: 1000, User: fmt.Sprintf("user%d", 1+rng.IntN(4)), Kind: "work"}
		if rng.IntN(spacing) == 0 {
			j.User, j.GPUMilli = "double", milli
		}
		if rng.IntN(100) < 22 {
			t.Jobs = append(t.Jobs, j)
		}
	}
	return t
}

// A job that needs one GPU does not gain by requesting two, or more than half of all GPUs, although
// a wider job may preempt others. Such jobs end later than with one GPU: they wait longer for GPUs,
// and all their GPUs count as usage.
func TestAskingMoreDoesNotPay(t *testing.T) {
	for _, one := range []int{5, 20} { // a user with an average share, and a user with little usage
		honest := time.Duration(0)
		for _, gpus := range []int{1, 2, 5} {
			end := time.Duration(0)
			for seed := range uint64(2) {
				end += endsOf(t, doubledTrace(seed, one, gpus*1000)) / 2
			}
			t.Logf("one job in %d asks %d GPUs and ends after %s", one, gpus, end.Round(time.Minute))
			if honest = max(honest, end); end < honest {
				t.Errorf("a job that requests %d GPUs ends after %s, and with fewer after %s", gpus, end, honest)
			}
		}
	}
}

// endsOf returns the mean completion time of the jobs of user double.
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
