package gpus

import (
	"slices"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Each GPU state of placement has a word for people, and every word is used.
func TestEveryGPUStateHasAWord(t *testing.T) {
	said := map[job.GPUState]bool{}
	for _, state := range []sched.GPUState{
		sched.OK, sched.Paused, sched.Drained, sched.Unknown, sched.Lost, sched.Sick, sched.Cleaning, sched.Suspect,
	} {
		for _, free := range []int{0, 500, job.WholeGPU} {
			word := gpuWord(state, free)
			if !slices.Contains(job.GPUStates(), word) {
				t.Errorf("%s with %d free is %q, which is not a state for people", state, free, word)
			}
			said[word] = true
		}
	}
	if len(said) != len(job.GPUStates()) {
		t.Errorf("of %q only %v are ever said", job.GPUStates(), said)
	}
}
