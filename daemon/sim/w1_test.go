//go:build publictrace

package sim_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/sim"
)

var (
	philly  = flag.String("philly", "", "the Philly trace, of which TestW1OnThePublicTrace draws: it is public and not in this repository")
	w1Seeds = flag.Uint64("w1-seeds", 3, "how many seeds it draws; what it holds is of the first three")
)

// w1Goals are mean completion times in hours for seeds 1 to 3.
var w1Goals = []struct {
	load         float64
	policy       string
	holds        float64
	noLongerThan string // name of a policy that takes at least as long
}{
	{0.7, "fifo", 6.5, ""},
	{0.7, "fair", 6.2, "fifo"},
	{0.7, "fair-preempt", 3.3, "fair"},
	{0.9, "fifo", 19, ""},
	{0.9, "fair", 14, "fifo"},
	{0.9, "fair-preempt", 5, "fair"},
}

// Limits for the public trace on 8 GPUs with learned run times: go test -tags publictrace
// ./daemon/sim -run PublicTrace -v -args -philly FILE.
func TestW1OnThePublicTrace(t *testing.T) {
	if *philly == "" {
		t.Fatal("-args -philly FILE names the trace, which is not in this repository")
	}
	pool := readPhilly(t)
	for _, load := range []float64{0.7, 0.9} {
		took := map[string]float64{}
		for _, g := range w1Goals {
			if g.load != load {
				continue
			}
			m := drawnW1(t, pool, load, g.policy)
			took[g.policy] = m.MeanCompletion / 3600
			t.Logf("load %.1f, %-12s mean %5.2f h, p99 %5.1f, longest wait %5.1f, full-node wait %5.1f, use %.1f %%", load, g.policy,
				took[g.policy], m.P99Completion/3600, m.MaxWait/3600, m.FullNodeWait/3600, 100*m.Utilisation)
			if *w1Seeds != 3 {
				continue
			}
			if took[g.policy] > g.holds || g.noLongerThan != "" && took[g.policy] > took[g.noLongerThan] {
				t.Errorf("load %.1f, %s: %.2f h, holds %.2f, and no longer than %s", load, g.policy, took[g.policy], g.holds, g.noLongerThan)
			}
		}
	}
}

func readPhilly(t *testing.T) sim.Trace {
	f, err := os.Open(*philly)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pool, _, err := sim.Read(f, sim.FormatPhilly)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

func drawnW1(t *testing.T, pool sim.Trace, load float64, policy string) sim.Metrics {
	t.Helper()
	var runs []*sim.Outcome
	for seed := range *w1Seeds {
		o := options(t, policy, 8)
		o.Check, o.Seed = false, seed+1
		w := sim.W1{GPUs: o.GPUs, Load: load, From: time.Date(2017, 10, 2, 0, 0, 0, 0, time.UTC), Days: 75, Seed: o.Seed}
		out, err := sim.Run(w.Draw(pool).Fit(o.GPUs, o.GPUMemBytes), o)
		if err != nil {
			t.Fatalf("load %.1f, %s, seed %d: %v", load, policy, o.Seed, err)
		}
		runs = append(runs, out)
	}
	return sim.Mean(runs)
}
