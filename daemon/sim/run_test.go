package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/sim"
)

const gib = 1 << 30

// trace makes jobs from lines of "submit run gpus", in seconds and GPUs.
func trace(t *testing.T, lines ...string) sim.Trace {
	t.Helper()
	var csv strings.Builder
	csv.WriteString("submit,duration,gpus,user,gpu_mem,kind\n")
	for i, line := range lines {
		f := strings.Fields(line)
		mem := ""
		if len(f) > 3 {
			mem = f[3]
		}
		fmt.Fprintf(&csv, "%s,%s,%s,user%d,%s,kind%d\n", f[0], f[1], f[2], i%3, mem, i%2)
	}
	tr, _, err := sim.Read(strings.NewReader(csv.String()), sim.FormatAuto)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func options(t *testing.T, policy string, gpus int) sim.Options {
	t.Helper()
	p, err := sim.Named(policy, sim.Tuning{})
	if err != nil {
		t.Fatal(err)
	}
	return sim.Options{GPUs: gpus, GPUMemBytes: 80 * gib, Policy: p, SwitchCost: time.Minute, Seed: 1, Check: true}
}

// endSeconds returns the ends of all jobs in seconds since the first submission.
func endSeconds(o *sim.Outcome) []int {
	var list []int
	for _, j := range o.Jobs {
		list = append(list, int((j.End - o.Jobs[0].Submit).Round(time.Second).Seconds()))
	}
	return list
}

// Ends of jobs match values calculated by hand.
func TestByHand(t *testing.T) {
	blocked := []string{"0 100 1", "10 100 2", "20 150 1"}
	for _, c := range []struct {
		name, policy string
		gpus         int
		jobs         []string
		want         []int
	}{
		{"one job", "fifo", 1, []string{"0 60 1"}, []int{60}},
		{"one after the other", "fifo", 1, []string{"0 60 1", "1 30 1", "2 10 1"}, []int{60, 90, 100}},
		{"side by side", "fifo", 2, []string{"0 60 1", "1 30 1", "2 10 1"}, []int{60, 31, 41}},
		{"an idle machine waits for the next", "fifo", 1, []string{"0 60 1", "100 5 1"}, []int{60, 105}},
		{"nobody passes", "fifo-strict", 2, blocked, []int{100, 200, 350}},
		{"who fits passes", "fifo", 2, blocked, []int{100, 270, 170}},
		{"all at once", "fifo-strict", 4, []string{"0 10 4", "0 10 2", "0 10 2", "0 10 4"}, []int{10, 20, 20, 30}},
		{"memory that is declared is given back", "fifo", 1, []string{"0 60 1 70G", "1 30 1 80G"}, []int{60, 90}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := sim.Run(trace(t, c.jobs...), options(t, c.policy, c.gpus))
			if err != nil {
				t.Fatal(err)
			}
			if got := endSeconds(out); !slices.Equal(got, c.want) {
				t.Errorf("ends %v, want %v", got, c.want)
			}
		})
	}
}

// The figures match values calculated by hand: on two GPUs the jobs end after 100, 260 and 150
// seconds and wait 0, 160 and 0.
func TestFigures(t *testing.T) {
	out, err := sim.Run(trace(t, "0 100 1", "10 100 2", "20 150 1"), options(t, "fifo", 2))
	if err != nil {
		t.Fatal(err)
	}
	m := out.Metrics
	for name, c := range map[string][2]float64{
		"mean completion":  {m.MeanCompletion, (100 + 260 + 150) / 3.0},
		"median":           {m.P50Completion, 150},
		"p99":              {m.P99Completion, 260},
		"mean wait":        {m.MeanWait, 160 / 3.0},
		"max wait":         {m.MaxWait, 160},
		"full-node wait":   {m.FullNodeWait, 160},
		"slowdown":         {m.Slowdown, (1 + 2.6 + 1) / 3},
		"makespan":         {m.Makespan, 270},
		"makespan bound":   {m.MakespanBound, 225},
		"utilisation":      {m.Utilisation, 20 / 40.0},
		"to the last end":  {m.MakespanUse, 450 / 540.0},
		"idle while queue": {m.IdleQueued, (10 + 70) / 540.0},
		"jain":             {m.Jain, 4.6 * 4.6 / (3 * (1 + 2.6*2.6 + 1))},
	} {
		if d := c[0] - c[1]; d > 0.1 || d < -0.1 || (c[1] < 5 && (d > 1e-3 || d < -1e-3)) {
			t.Errorf("%s is %v, want %v", name, c[0], c[1])
		}
	}
}

// Invariant 5: the same seed gives the same results. Different seeds give different results.
func TestDeterminism(t *testing.T) {
	tr := sim.Generate(300, 3, 1)
	hash := map[string]string{}
	for _, policy := range []string{"fifo-strict", "fifo", "fair", "fair-preempt"} {
		for range 2 {
			out, err := sim.Run(tr, options(t, policy, 8))
			if err != nil {
				t.Fatalf("%s: %v", policy, err)
			}
			if known, ok := hash[policy]; ok && known != out.Hash {
				t.Errorf("%s: the same run gave %s and %s", policy, known, out.Hash)
			}
			hash[policy] = out.Hash
		}
	}
	if hash["fifo"] == hash["fifo-strict"] {
		t.Error("two policies decided the same")
	}
	other, err := sim.Run(sim.Generate(300, 3, 2), options(t, "fifo", 8))
	if err != nil || other.Hash == hash["fifo"] {
		t.Errorf("another seed gave the same decisions: %v", err)
	}
}

// A job that never fits makes the run fail, unless Fit drops the job.
func TestJobThatNeverFits(t *testing.T) {
	tr := trace(t, "0 60 1", "5 60 4", "6 60 1 90G")
	if _, err := sim.Run(tr, options(t, "fifo", 2)); err == nil || !strings.Contains(err.Error(), "job 2 is refused") {
		t.Errorf("got %v", err)
	}
	fit := tr.Fit(2, 80*gib)
	if len(fit.Jobs) != 1 || fit.Dropped != 2 {
		t.Errorf("%d jobs fit, %d dropped", len(fit.Jobs), fit.Dropped)
	}
}

func TestNoJobs(t *testing.T) {
	out, err := sim.Run(sim.Trace{}, options(t, "fair", 2))
	if err != nil || out.Metrics.Jobs != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}
