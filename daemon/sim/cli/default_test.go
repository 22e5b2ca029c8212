package cli

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/daemon/sim"
)

// The simulated policy "fair" is the daemon's policy without a configuration.
func TestProductIsDefault(t *testing.T) {
	s := config.Default().Scheduling
	want := sched.Policy{
		FIFO: s.Policy == config.OrderFIFO, HalfLife: s.HalfLife, GuardAfter: s.GuardAfter, GuardPercent: s.GuardPercent,
		ReservationDepth: s.ReservationDepth, Patience: sched.DefaultPatience, Slice: s.Slice,
	}
	if got := sim.Product(); got != want {
		t.Errorf("the simulator's default is %+v, the daemon's %+v", got, want)
	}
}
