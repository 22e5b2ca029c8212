package supervise

import (
	"slices"
	"testing"

	"github.com/gpusched/gpusched/daemon/config"
)

// TestNeedRestart names what a reload can't change, and nothing else.
func TestNeedRestart(t *testing.T) {
	old, now := config.Default(), config.Default()
	now.Jobs.MaxRunning++
	if keys := needRestart(old, now); keys != nil {
		t.Errorf("a reload can change this: %v", keys)
	}
	now.GPUs.NVMLLibrary, now.Daemon.StartsInFlight = "/x", 3
	if keys := needRestart(old, now); !slices.Equal(keys, []string{"daemon.starts_in_flight", "gpus.nvml_library"}) {
		t.Errorf("keys %v", keys)
	}
}
