package sim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/sim"
)

// runAnnAndBob runs a job of ann for two hours on both GPUs. Meanwhile bob submits a job of an hour
// on one GPU, and ann another job of two hours on one GPU.
func runAnnAndBob(t *testing.T) *sim.Outcome {
	t.Helper()
	tr, _, err := sim.Read(strings.NewReader(`submit,duration,gpus,user
0,7200,2,ann
3600,3600,1,bob
3600,7200,1,ann
`), sim.FormatCSV)
	if err != nil {
		t.Fatal(err)
	}
	out, err := sim.Run(tr, options(t, "fifo", 2))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The rows by user and by size match values calculated by hand.
func TestGroups(t *testing.T) {
	out := runAnnAndBob(t)
	users := []sim.Group{
		{User: "ann", Jobs: 2, GPUTime: 2*7200 + 7200, MeanWait: 1800, MeanCompletion: (7200 + 10800) / 2.0, Slowdown: 1.25},
		{User: "bob", Jobs: 1, GPUTime: 3600, MeanWait: 3600, MeanCompletion: 7200, Slowdown: 2},
	}
	if got := sim.Users(out); !slices.Equal(got, users) {
		t.Errorf("by user: %+v", got)
	}
	sizes := []sim.Group{
		{GPUs: 1, Jobs: 2, GPUTime: 7200 + 3600, MeanWait: 3600, MeanCompletion: 9000, Slowdown: 1.75},
		{GPUs: 2, Jobs: 1, GPUTime: 2 * 7200, MeanCompletion: 7200, Slowdown: 1},
	}
	if got := sim.Sizes(out); !slices.Equal(got, sizes) {
		t.Errorf("by size: %+v", got)
	}
	half := sim.Span{From: 90 * time.Minute, To: 150 * time.Minute}
	if own, all := out.GPUTime("bob", half); own != 1800 || all != 7200 {
		t.Errorf("bob got %v of %v GPU-seconds", own, all)
	}
}

// While bob waits and ann has both GPUs, bob should have one of the GPUs. Later both users have all
// GPUs that they requested. Windows are an hour long.
func TestFairness(t *testing.T) {
	f := runAnnAndBob(t).FairnessBy(time.Hour)
	for _, c := range []struct {
		what      string
		got, want []float64
	}{
		{"ann got", f.GPUTime[0], []float64{7200, 7200, 3600, 3600}},
		{"bob got", f.GPUTime[1], []float64{0, 0, 3600, 0}},
		{"ann's even share is", f.Even[0], []float64{7200, 3600, 3600, 3600}},
		{"bob's even share is", f.Even[1], []float64{0, 3600, 3600, 0}},
		{"ann waited", f.Waited[0], []float64{0, 3600, 0, 0}},
		{"bob waited", f.Waited[1], []float64{0, 3600, 0, 0}},
		{"misplaced is", f.Misplaced, []float64{0, 0.5, 0, 0}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s %v, want %v", c.what, c.got, c.want)
		}
	}
	if !slices.Equal(f.Users, []string{"ann", "bob"}) {
		t.Errorf("users %v", f.Users)
	}
}

// On a busy machine with preemptions, the sum over the windows is the users' GPU time.
func TestFairnessAddsUp(t *testing.T) {
	out, err := sim.Run(scenario(t, "mixed", sim.Setting{Days: 3, Seed: 1}), options(t, "fair-preempt", 8))
	if err != nil {
		t.Fatal(err)
	}
	f := out.Fairness()
	stopped := 0.0
	for i, u := range sim.Users(out) {
		sum := 0.0
		for _, v := range f.GPUTime[i] {
			sum += v
		}
		if d := sum - u.GPUTime; d > 1 || d < -1 || f.Users[i] != u.User {
			t.Errorf("%s has %.0f GPU-seconds in windows and %.0f in all", u.User, sum, u.GPUTime)
		}
		stopped += u.Preemptions
	}
	if stopped == 0 || stopped != out.Metrics.Preemptions {
		t.Errorf("%v of %v preemptions are somebody's", stopped, out.Metrics.Preemptions)
	}
	for k, v := range f.Misplaced {
		got, even := 0.0, 0.0
		for u := range f.Users {
			got, even = got+f.GPUTime[u][k], even+f.Even[u][k]
		}
		if d := got - even; v < 0 || v > 1 || d > 1 || d < -1 {
			t.Errorf("window %d: %v misplaced, %.0f GPU-seconds are divided into %.0f", k, v, got, even)
		}
	}
}
