package act

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// The sentence that a command prints about a GPU is true after the command.
func TestWhatIsSaidAfterAGPUCommandIsTrue(t *testing.T) {
	for state, want := range map[job.GPUState][2]string{
		"free":     {"is being drained", "back in service"},
		"draining": {"is being drained", "back in service"},
		"drained":  {"is drained", "back in service"},
		"lost":     {"is being drained", "is no longer drained, but is lost: see 'gpusched health' and 'gpusched gpus'"},
	} {
		g := api.GPU{GPU: job.GPU{State: state}}
		if got := [2]string{drained(g), undrained(g)}; got != want {
			t.Errorf("%s: %q", state, got)
		}
	}
}
