package sim_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/sim"
)

// kinds are distributions of the run times of a batch.
var kinds = []string{"uniform", "lognormal", "bimodal"}

func runOf(kind string, rng *rand.Rand) time.Duration {
	seconds := 0.0
	switch kind {
	case "uniform":
		seconds = 600 + rng.Float64()*(4*3600-600)
	case "lognormal":
		seconds = min(3600*math.Exp(rng.NormFloat64()), 24*3600)
	case "bimodal":
		seconds = 300 * (0.5 + rng.Float64())
		if rng.Float64() < 0.2 {
			seconds = 6 * 3600 * (0.5 + rng.Float64())
		}
	}
	return time.Duration(seconds) * time.Second
}

// batchOf draws n jobs of 1, 2, 4 and 8 GPUs. They all wait while the machine is busy for a minute.
func batchOf(kind string, n, gpus int, seed uint64) sim.Trace {
	rng := rand.New(rand.NewPCG(seed, uint64(n*100+gpus)))
	widths := []int{1, 1, 1, 2, 4, 8}
	tr := sim.Trace{Begin: time.Unix(0, 0).UTC(), Jobs: []sim.Job{{Run: time.Minute, GPUMilli: gpus * 1000, User: "ann"}}}
	for i := range n {
		w := gpus + 1
		for w > gpus {
			w = widths[rng.IntN(len(widths))]
		}
		tr.Jobs = append(tr.Jobs, sim.Job{Submit: time.Duration(i+1) * time.Millisecond, Run: runOf(kind, rng), GPUMilli: w * 1000, User: "ann"})
	}
	return tr
}

// ratio returns the makespan of the batch divided by its lower bound.
func ratio(t *testing.T, tr sim.Trace, o sim.Options, objective bool) float64 {
	tr.Jobs = slices.Clone(tr.Jobs)
	for i := range tr.Jobs[1:] {
		if objective {
			tr.Jobs[i+1].Batch = "b"
		}
	}
	o.Check = false
	out, err := sim.Run(tr, o)
	if err != nil {
		t.Fatal(err)
	}
	last := time.Duration(0)
	for _, j := range out.Jobs {
		last = max(last, j.End)
	}
	return float64(last-time.Minute) / float64(sim.BatchBound(tr.Jobs[1:], o.GPUs))
}

var (
	batchSeeds   = flag.Uint64("batch-seeds", 5, "how many batches of each kind TestMakespan draws")
	batchPolicy  = flag.String("batch-policy", "fair", "the policy of TestMakespan")
	batchPredict = flag.String("batch-predict", "oracle", "what it knows of run times; only the oracle's is held to the bound")
	batchJobs    = flag.Int("batch-jobs", 10, "jobs for each GPU")
)

// A batch has ten jobs for each GPU. If run times are known, it takes on average at most 1.03 times
// its lower bound. With known and with unknown run times, a batch takes less time with the makespan
// objective than without. -v prints the table of contrib/sim.
func TestMakespan(t *testing.T) {
	mean, n := 0.0, 0.0
	for _, kind := range kinds {
		for _, gpus := range []int{4, 8, 16} {
			with, without, worst := 0.0, 0.0, 0.0
			for seed := range *batchSeeds {
				o := options(t, *batchPolicy, gpus)
				o.Seed, o.Predict = seed, sim.Prediction(*batchPredict)
				tr := batchOf(kind, *batchJobs*gpus, gpus, seed)
				r := ratio(t, tr, o, true)
				with, worst = with+r, max(worst, r)
				without += ratio(t, tr, o, false)
			}
			seeds := float64(*batchSeeds)
			t.Logf("%s, %d GPUs, %d jobs: %.3f (at most %.3f), without %.3f", kind, gpus, *batchJobs*gpus, with/seeds, worst, without/seeds)
			if with >= without {
				t.Errorf("%s, %d GPUs: %.3f with the objective, %.3f without", kind, gpus, with/seeds, without/seeds)
			}
			mean, n = mean+with, n+seeds
		}
	}
	t.Logf("mean %.4f", mean/n)
	if *batchPredict == string(sim.Oracle) && *batchJobs >= 10 && mean/n > 1.03 {
		t.Errorf("the mean is %.4f of the lower bound", mean/n)
	}
}

// The lower bounds of batches match values that were calculated by hand.
func TestBatchBound(t *testing.T) {
	for _, c := range []struct {
		name string
		jobs []string
		want int // seconds
	}{
		{"the longest", []string{"0 100 1", "0 10 1"}, 100},
		{"the work", []string{"0 100 2", "0 100 2", "0 100 1", "0 100 3"}, 200},
		{"those that do not fit side by side", []string{"0 100 3", "0 100 3", "0 100 3"}, 300},
		{"halves two at a time", []string{"0 100 3", "0 100 2", "0 100 2"}, 200},
	} {
		if got := sim.BatchBound(trace(t, c.jobs...).Jobs, 4); got != time.Duration(c.want)*time.Second {
			t.Errorf("%s: %s, want %d s", c.name, got, c.want)
		}
	}
}
