package sim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/sim"
)

// served runs ann's job of two hours on all of 2 GPUs, then what bob and ann
// submit meanwhile: bob one GPU for an hour at once, ann one for two hours.
func served(t *testing.T) *sim.Outcome {
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

// TestGroups compares the rows by user and by size with paper.
func TestGroups(t *testing.T) {
	out := served(t)
	users := []sim.Group{
		{User: "ann", Jobs: 2, GPUTime: 2*7200 + 7200, MeanWait: 1800, MeanCompletion: (7200 + 10800) / 2.0, Slowdown: 1.25},
		{User: "bob", Jobs: 1, GPUTime: 3600, MeanWait: 3600, MeanCompletion: 7200, Slowdown: 2},
	}
	if got := out.Users(); !slices.Equal(got, users) {
		t.Errorf("by user: %+v", got)
	}
	sizes := []sim.Group{
		{GPUs: 1, Jobs: 2, GPUTime: 7200 + 3600, MeanWait: 3600, MeanCompletion: 9000, Slowdown: 1.75},
		{GPUs: 2, Jobs: 1, GPUTime: 2 * 7200, MeanCompletion: 7200, Slowdown: 1},
	}
	if got := out.Sizes(); !slices.Equal(got, sizes) {
		t.Errorf("by size: %+v", got)
	}
	half := sim.Span{From: 90 * time.Minute, To: 150 * time.Minute}
	if own, all := out.GPUTime("bob", half); own != 1800 || all != 7200 {
		t.Errorf("bob got %v of %v GPU-seconds", own, all)
	}
}

// TestFairness: while bob waits and ann has both GPUs, one of them should be
// bob's, so a half is misplaced; then both have all that they ask.
func TestFairness(t *testing.T) {
	f := served(t).Fairness(time.Hour)
	if !slices.Equal(f.Users, []string{"ann", "bob"}) || !slices.Equal(f.Misplaced, []float64{0, 0.5, 0, 0}) {
		t.Errorf("%+v", f)
	}
	if !slices.Equal(f.GPUTime[0], []float64{7200, 7200, 3600, 3600}) || !slices.Equal(f.GPUTime[1], []float64{0, 0, 3600, 0}) {
		t.Errorf("GPU time %v", f.GPUTime)
	}
}

// TestFairnessAddsUp: on a busy machine with stops the windows' GPU time is that
// of the users' jobs.
func TestFairnessAddsUp(t *testing.T) {
	out, err := sim.Run(scenario(t, "mixed", sim.Setting{Days: 3, Seed: 1}), options(t, "fair-preempt", 8))
	if err != nil {
		t.Fatal(err)
	}
	f := out.Fairness(6 * time.Hour)
	stopped := 0.0
	for i, u := range out.Users() {
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
	for _, v := range f.Misplaced {
		if v < 0 || v > 1 {
			t.Errorf("misplaced %v", f.Misplaced)
		}
	}
}
