package sim_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/daemon/sim"
)

// With exact run times, GPUs are reserved for the first job that does not fit. A job that ends
// before that reservation may pass it.
func TestReservation(t *testing.T) {
	for _, c := range []struct {
		name string
		jobs []string
		want []int
	}{
		{"too long to pass", []string{"0 100 1", "10 100 2", "20 150 1"}, []int{100, 200, 350}},
		{"short enough to pass", []string{"0 100 1", "10 100 2", "20 50 1"}, []int{100, 200, 70}},
		{"on what is left over", []string{"0 100 2", "10 100 2", "20 500 1"}, []int{100, 200, 520}},
	} {
		o := options(t, "fifo-easy", 2)
		if c.name == "on what is left over" {
			o.GPUs = 3
		}
		o.Predict = sim.Oracle
		out, err := sim.Run(trace(t, c.jobs...), o)
		if err != nil {
			t.Fatal(err)
		}
		if got := endSeconds(out); !slices.Equal(got, c.want) {
			t.Errorf("%s: ends %v, want %v", c.name, got, c.want)
		}
	}
}

// A short job preempts a long job once the long job has had its slice. The long job continues
// later, at a cost.
func TestPreemption(t *testing.T) {
	const hour = 3600
	o := options(t, "fair-preempt", 1)
	o.Predict, o.SwitchCost = sim.Oracle, time.Minute
	out, err := sim.Run(trace(t, "0 36000 1", "3600 600 1"), o)
	if err != nil {
		t.Fatal(err)
	}
	// The short job waits until its response ratio is far enough above that of the long job.
	m := out.Metrics
	long, short := out.Jobs[0], out.Jobs[1]
	if m.Preemptions != 1 || long.Preemptions != 1 || m.LostGPU != 60 {
		t.Errorf("%v preemptions, %v GPU-seconds lost", m.Preemptions, m.LostGPU)
	}
	if short.Completion() > 2*hour*time.Second || (long.Completion()-(10*hour+600+60)*time.Second).Abs() > time.Second {
		t.Errorf("the short job took %s, the long one %s", short.Completion(), long.Completion())
	}
}

// A job without checkpoints starts over after a stop.
func TestStartsOver(t *testing.T) {
	o := options(t, "fair-preempt", 1)
	o.Predict, o.Checkpoints = sim.Oracle, new(float64)
	out, err := sim.Run(trace(t, "0 36000 1", "3600 600 1"), o)
	if err != nil {
		t.Fatal(err)
	}
	long, again := out.Jobs[0], (10*time.Hour + o.SwitchCost)
	if len(long.Held) != 2 || long.Held[1].To-long.Held[1].From != again {
		t.Fatalf("it ran %v", long.Held)
	}
	if ran := long.Held[0].To - long.Held[0].From; out.Metrics.LostGPU != (ran + o.SwitchCost).Seconds() {
		t.Errorf("it ran %s before it started over, and %v GPU-seconds are lost", ran, out.Metrics.LostGPU)
	}
}

// No stop is in vain, and no job that is stopped runs again before the job for which it was stopped.
func TestVictimsWaitForTheirAsker(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	var lines []string
	for at := 0; len(lines) < 500; at += 5 * rng.IntN(1000) {
		for range 1 + rng.IntN(3) {
			lines = append(lines, fmt.Sprint(at, " ", int(3600*math.Exp(1.7*rng.NormFloat64())), " ", 1+rng.IntN(6)))
		}
	}
	o := options(t, "fair-preempt", 12)
	o.Check = false
	out, err := sim.Run(trace(t, lines...), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range out.Jobs {
		for k, r := range out.Jobs[i].Room {
			if again, start := out.Jobs[i].Held[k+1].From, out.Jobs[r.For].Held[0].From; again < start {
				t.Errorf("job %d is stopped for job %d, which starts at %s, and runs again at %s", i, r.For, start, again)
			}
		}
	}
	if m := out.Metrics; m.Preemptions < 100 || m.InVain > 0 {
		t.Errorf("%v stops, %v of them in vain", m.Preemptions, m.InVain)
	}
}

// Two jobs of 0.6 GPUs do not share a GPU. A small job fits on a GPU with either of them.
func TestFractions(t *testing.T) {
	out, err := sim.Run(trace(t, "0 100 0.6", "1 100 0.6", "2 10 0.4"), options(t, "fifo", 1))
	if err != nil {
		t.Fatal(err)
	}
	if got := endSeconds(out); !slices.Equal(got, []int{100, 200, 12}) {
		t.Errorf("ends %v", got)
	}
	got, err := sim.Pack{Options: options(t, "fifo", 2), Arrived: 1.3}.Run(trace(t, "0 9 0.6", "0 9 0.6", "0 9 0.6", "0 9 0.6", "0 9 0.6", "0 9 0.6"))
	if err != nil || got.Jobs != 5 || got.Started != 2 || got.Allocated != 0.6 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A stream of short jobs needs more time than the GPU has. If jobs that have waited for two hours
// are guarded, a long job then goes first and runs to its end. Without a guard, it waits longer, or
// is preempted.
func TestGuard(t *testing.T) {
	lines := []string{"0 600 1", "1 36000 1"}
	for i := range 200 {
		lines = append(lines, fmt.Sprint(500*(i+1), " 600 1"))
	}
	for after, guarded := range map[time.Duration]bool{2 * time.Hour: true, 0: false} {
		o := options(t, "fair-preempt", 1)
		o.Predict, o.Policy.Sched.GuardAfter, o.Policy.Sched.GuardPercent = sim.Oracle, after, 100
		out, err := sim.Run(trace(t, lines...), o)
		if err != nil {
			t.Fatal(err)
		}
		long := out.Jobs[1]
		if inTime := long.Wait <= 3*time.Hour && long.Preemptions == 0; inTime != guarded {
			t.Errorf("guard after %s: it waited %s and was stopped %d times", after, long.Wait, long.Preemptions)
		}
	}
}

// A stream of one-GPU jobs of similar length needs more GPU time than the machine has. Then a job
// for all GPUs arrives. The stream passes it for some time, but not for ever. If its planned start
// could be postponed without limit, the stream would pass it for ever.
func TestPassedNoLonger(t *testing.T) {
	const gpus, comes = 4, 20 * time.Hour
	rng := rand.New(rand.NewPCG(1, 2))
	var lines []string
	for at := 0; at < int((120 * time.Hour).Seconds()); at += 500 {
		lines = append(lines, fmt.Sprintf("%d %d 1", at, int(min(1800*math.Exp(rng.NormFloat64()), 20000))))
		if at == int(comes.Seconds()) {
			lines = append(lines, fmt.Sprintf("%d 600 %d", at, gpus))
		}
	}
	waits := func(patience int) time.Duration {
		o := options(t, "fair", gpus)
		o.Policy.Sched.Patience = patience
		out, err := sim.Run(trace(t, lines...), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range out.Jobs {
			if j.GPUMilli == 1000*gpus {
				return j.End - j.Submit
			}
		}
		t.Fatal("the job for all GPUs is not there")
		return 0
	}
	plain, product, endless := waits(0), waits(sched.DefaultPatience), waits(1000)
	t.Logf("it takes %s, %s where others pass it for some time, %s without bound", plain, product, endless)
	if bound := sched.DefaultPatience * 100 * time.Minute; product > plain+bound {
		t.Errorf("%s is longer than %s by more than %s", product, plain, bound)
	}
	if endless < 2*product {
		t.Errorf("without bound it takes %s: this workload shows nothing", endless)
	}
}
