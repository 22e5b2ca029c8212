package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/sim"
)

// TestReservation: with exact run times GPUs are kept for the first job that
// does not fit, and who ends in time passes all the same.
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
		if got := ends(out); !slices.Equal(got, c.want) {
			t.Errorf("%s: ends %v, want %v", c.name, got, c.want)
		}
	}
}

// TestPreemption: a short job stops a long one that ran for its slice, which
// goes on afterwards and pays for it.
func TestPreemption(t *testing.T) {
	const hour = 3600
	o := options(t, "fair-preempt", 1)
	o.Predict, o.SwitchCost = sim.Oracle, time.Minute
	out, err := sim.Run(trace(t, "0 36000 1", "3600 600 1"), o)
	if err != nil {
		t.Fatal(err)
	}
	// The short one waits until its response ratio is far enough above.
	m := out.Metrics
	long, short := out.Jobs[0], out.Jobs[1]
	if m.Preemptions != 1 || long.Preemptions != 1 || m.LostGPU != 60 {
		t.Errorf("%v preemptions, %v GPU-seconds lost", m.Preemptions, m.LostGPU)
	}
	if short.Completion() > 2*hour*time.Second || (long.Completion()-(10*hour+600+60)*time.Second).Abs() > time.Second {
		t.Errorf("the short job took %s, the long one %s", short.Completion(), long.Completion())
	}
}

// TestFractions: two jobs of six tenths do not share a GPU, and a small one fits
// beside either.
func TestFractions(t *testing.T) {
	out, err := sim.Run(trace(t, "0 100 0.6", "1 100 0.6", "2 10 0.4"), options(t, "fifo", 1))
	if err != nil {
		t.Fatal(err)
	}
	if got := ends(out); !slices.Equal(got, []int{100, 200, 12}) {
		t.Errorf("ends %v", got)
	}
	got, err := sim.Pack{Options: options(t, "fifo", 2), Arrived: 1.3}.Run(trace(t, "0 9 0.6", "0 9 0.6", "0 9 0.6", "0 9 0.6", "0 9 0.6", "0 9 0.6"))
	if err != nil || got.Jobs != 5 || got.Started != 2 || got.Allocated != 0.6 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestGuard: on a GPU of which a stream of short jobs asks more than there is, a
// long one that has waited for two hours goes first, and with a lane that may
// take all of the machine runs to its end; else others stop it again and again.
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
