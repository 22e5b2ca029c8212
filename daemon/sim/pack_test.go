package sim_test

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/sim"
)

// Jobs arrive until they request the given amount, and the allocated part is counted.
func TestPack(t *testing.T) {
	for _, c := range []struct {
		name string
		jobs []string
		want sim.Packed
	}{
		{"one GPU each", []string{"0 9 1", "0 9 1", "0 9 1", "0 9 1", "0 9 1", "0 9 1", "0 9 1", "0 9 1"}, sim.Packed{Jobs: 6, Started: 4, Arrived: 1.5, Allocated: 1}},
		{"three GPUs each", []string{"0 9 3", "0 9 3", "0 9 3", "0 9 3"}, sim.Packed{Jobs: 2, Started: 1, Arrived: 1.5, Allocated: 0.75}},
		{"too large for the machine", []string{"0 9 8", "0 9 1", "0 9 8"}, sim.Packed{Jobs: 1, Started: 1, Arrived: 0.25, Allocated: 0.25}},
	} {
		got, err := sim.Pack{Options: options(t, "fifo", 4), Arrived: 1.3}.Run(trace(t, c.jobs...))
		if err != nil {
			t.Fatal(err)
		}
		if got.Hash == "" {
			t.Errorf("%s: no hash", c.name)
		}
		if got.Hash = ""; *got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, *got, c.want)
		}
	}
}
