package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/sim"
)

// A job of 40 GiB runs on the only GPU when a short one comes. After its slice it is parked, which
// takes 40 s, and comes back when the short one has ended, in as long. It loses nothing.
func TestParkByHand(t *testing.T) {
	o := options(t, "fair", 1)
	o.Parkable, o.Park, o.SwitchCost = 1, time.Second, time.Hour
	out, err := sim.Run(trace(t, "0 7200 1 40G", "60 600 1 40G"), o)
	if err != nil {
		t.Fatal(err)
	}
	long := &out.Jobs[0]
	if got := endSeconds(out); got[1] != 1800+40+600 || got[0] != 7200+600+2*40 || long.Preemptions != 1 {
		t.Errorf("the jobs end at %v, the first was parked %d times", got, long.Preemptions)
	}
	if len(long.Room) != 1 || long.Room[0] != (sim.Room{For: 1, At: 30 * time.Minute}) {
		t.Errorf("it made room %+v", long.Room)
	}
	if lost := out.Metrics.LostGPU; lost != 80 {
		t.Errorf("%v s are lost to copies", lost)
	}
}

// The second job is parked for the third at 1800 s, and comes back on the GPUs of the first at 2400 s.
// Its own are free only at 7802 s. Each copy takes 2 s.
func TestParkedJobMoves(t *testing.T) {
	o := options(t, "fair", 4)
	o.Parkable, o.Park = 1, time.Second
	out, err := sim.Run(trace(t, "0 2400 2 1G", "0 7200 2 1G", "60 6000 2 1G"), o)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := endSeconds(out), []int{2400, 2402 + 5400, 1802 + 6000}; !slices.Equal(got, want) {
		t.Errorf("the jobs end at %v, want %v", got, want)
	}
}

// Most jobs of a busy laboratory can be parked. The core checks itself after each step, and its
// account of each job agrees with the machine's.
func TestParkingOfMany(t *testing.T) {
	o := options(t, "fair", 8)
	o.Parkable, o.Park = 0.8, 300*time.Millisecond
	out, err := sim.Run(sim.Generate(400, 2, 5), o)
	if err != nil {
		t.Fatal(err)
	}
	if out.Metrics.Preemptions < 10 || out.Metrics.LostGPU == 0 {
		t.Errorf("%v parks cost %v s", out.Metrics.Preemptions, out.Metrics.LostGPU)
	}
}
