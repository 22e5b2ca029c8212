package sim_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/sim"
)

// kinds are how run times of a batch can be spread.
var kinds = []string{"uniform", "lognormal", "bimodal"}

// runOf draws a run time.
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

// batchOf draws n jobs of 1, 2, 4 and 8 GPUs that wait for a machine which is taken
// for a minute.
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

// ratio is the time of the batch over its lower bound.
func ratio(t *testing.T, tr sim.Trace, objective bool, predict sim.Prediction, policy string, gpus int, seed uint64) float64 {
	tr.Jobs = slices.Clone(tr.Jobs)
	if objective {
		for i := range tr.Jobs[1:] {
			tr.Jobs[i+1].Batch = "b"
		}
	}
	o := options(t, policy, gpus)
	o.Predict, o.Seed, o.Check = predict, seed, false
	out, err := sim.Run(tr, o)
	if err != nil {
		t.Fatal(err)
	}
	last := time.Duration(0)
	for _, j := range out.Jobs {
		last = max(last, j.End)
	}
	return float64(last-time.Minute) / float64(sim.BatchBound(tr.Jobs[1:], gpus))
}

func TestBatchTable(t *testing.T) {
	for _, policy := range []string{"fair"} {
		for _, predict := range []sim.Prediction{sim.Oracle} {
			for _, kind := range kinds {
				for _, gpus := range []int{4, 8, 16} {
					for _, per := range []int{5, 10, 30} {
						with, without, worst := 0.0, 0.0, 0.0
						const seeds = 20
						for seed := range uint64(seeds) {
							tr := batchOf(kind, per*gpus, gpus, seed)
							r := ratio(t, tr, true, predict, policy, gpus, seed)
							with += r / seeds
							worst = max(worst, r)
							without += ratio(t, tr, false, predict, policy, gpus, seed) / seeds
						}
						fmt.Printf("%s %s %s gpus=%d per=%d  with %.4f (worst %.3f)  without %.4f\n", policy, predict, kind, gpus, per, with, worst, without)
					}
				}
			}
		}
	}
}
