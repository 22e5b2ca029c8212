package sim_test

import (
	"math"
	"testing"

	"github.com/gpusched/gpusched/daemon/sim"
)

// The first of three jobs on one GPU starts at once. The users of the other two jobs are told 1000
// s and 1512 s, and these jobs wait exactly that long.
func TestStartsByHand(t *testing.T) {
	o := options(t, "fifo", 1)
	o.Predict, o.Starts = sim.Oracle, 1
	out, err := sim.Run(trace(t, "0 1024 1", "24 512 1", "24 64 1"), o)
	if err != nil {
		t.Fatal(err)
	}
	want := sim.StartFigures{Asked: 3, AtOnce: 1. / 3, Told: 2. / 3, RatioP50: 1, Held: 1}
	if f := *out.Starts; math.Abs(f.Told-want.Told) > 1e-9 {
		t.Errorf("%+v, want %+v", f, want)
	} else if f.Told = want.Told; f != want {
		t.Errorf("%+v, want %+v", f, want)
	}
}

// If users ask for expected starts, the real starts do not change.
func TestAskingChangesNothing(t *testing.T) {
	for _, policy := range []string{"fifo-easy", "fair", "fair-preempt"} {
		o := options(t, policy, 4)
		tr := sim.Generate(300, 2, 7).Fit(4, 80*gib)
		silent, err := sim.Run(tr, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Starts = 1
		asked, err := sim.Run(tr, o)
		if err != nil {
			t.Fatal(err)
		}
		if silent.Hash != asked.Hash || asked.Starts.Asked != float64(len(tr.Jobs)) || asked.Starts.Told == 0 {
			t.Errorf("%s: %s, asked %s, %+v", policy, silent.Hash, asked.Hash, asked.Starts)
		}
	}
}

// On a made-up trace with learned run times, half of the expected starts have an error below a
// goal. Most jobs start within the predicted range.
func TestStartsComeTrue(t *testing.T) {
	o := options(t, "fair", 4)
	o.Starts = 1
	out, err := sim.Run(sim.Generate(300, 2, 7).Fit(4, 80*gib), o)
	if err != nil {
		t.Fatal(err)
	}
	if f := out.Starts; f.Told == 0 || f.ErrorP50 > 0.5 || f.Held < 0.6 {
		t.Errorf("%+v", *f)
	}
}
