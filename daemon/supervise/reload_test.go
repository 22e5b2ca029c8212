package supervise

import (
	"slices"
	"testing"

	"github.com/gpusched/gpusched/daemon/config"
)

// TestNeedRestart: exactly the settings that a reload can't apply are named.
func TestNeedRestart(t *testing.T) {
	old, now := config.Default(), config.Default()
	now.Jobs.MaxRunning++
	now.Daemon.StartsInFlight++
	if keys := needRestart(old, now); keys != nil {
		t.Errorf("a reload can change this: %v", keys)
	}
	now.GPUs.NVMLLibrary, now.GPUs.SampleTimeout = "/x", 3
	if keys := needRestart(old, now); !slices.Equal(keys, []string{"gpus.nvml_library", "gpus.sample_timeout"}) {
		t.Errorf("keys %v", keys)
	}
}
