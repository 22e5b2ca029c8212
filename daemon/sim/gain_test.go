package sim_test

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/sim"
)

// If a job is stopped twice, the job that caused the first stop has ended before the second stop,
// or has had its GPUs for a slice by then. (Invariant 10 of package sched. TestGoals checks that
// stops are useful overall.)
func TestNobodyIsStoppedTwiceForNothing(t *testing.T) {
	for name, c := range map[string]sim.Setting{
		"sweep": {GPUs: 8}, "bimodal": {GPUs: 8, Days: 8}, "uniform": {GPUs: 8, Days: 8}, "mixed": {GPUs: 8, Days: 5},
	} {
		scenario, err := sim.FindScenario(name)
		if err != nil {
			t.Fatal(err)
		}
		c.Seed = 1
		o := options(t, "fair-preempt", c.GPUs)
		o.Check = false
		out, err := sim.Run(scenario.Make(c), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, wider := range []bool{false, true} {
			twice, vain := stoppedAgain(out.Jobs, wider)
			t.Logf("%-10s for a wider job %-5t: stopped again %5d times, %4d times in vain", name, wider, twice, vain)
			if vain > 0 {
				t.Errorf("%s, for a wider job %t: of %d stops before another %d were in vain", name, wider, twice, vain)
			}
		}
	}
}

// stoppedAgain counts the stops after which the same job was stopped again. The result stops is
// their number, and vain is the number of those with no gain for another job before the second
// stop. If wider is true, only stops for wider jobs count. If it is false, only all other stops
// count.
func stoppedAgain(jobs []sim.JobOutcome, wider bool) (stops, vain int) {
	for i := range jobs {
		for k := range len(jobs[i].Room) - 1 {
			stop, again := jobs[i].Room[k], jobs[i].Room[k+1]
			other := &jobs[stop.For]
			if (other.GPUMilli > jobs[i].GPUMilli) != wider {
				continue
			}
			if stops++; !hasGained(other, stop.At, again.At, sim.Product().Slice) {
				vain++
			}
		}
	}
	return stops, vain
}

// hasGained reports whether job j has gained from a stop of another job: j ended by t1, or had its
// GPUs for a slice between t0 and t1.
func hasGained(j *sim.JobOutcome, t0, t1, slice time.Duration) bool {
	if j.End <= t1 {
		return true
	}
	had := time.Duration(0)
	for _, h := range j.Held {
		had += max(0, min(h.To, t1)-max(h.From, t0))
	}
	return had >= slice
}
