package predict

import (
	"math"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// TestMemory checks what is known about a command's GPU memory after some attempts. The memory does
// not depend on the number of GPUs. It is known only for the user who ran the command.
func TestMemory(t *testing.T) {
	train := Kind{UID: 1, Milli: 1000, Shape: "train"}
	ended, stopped := true, false
	type attempt struct {
		peak  int64
		ended bool
	}
	for name, c := range map[string]struct {
		seen []attempt
		want int64
	}{
		"nothing":                    {nil, 0},
		"never on a GPU":             {[]attempt{{0, ended}}, 0},
		"more counts at once":        {[]attempt{{4 * gib, ended}, {8 * gib, stopped}}, 8 * gib},
		"less counts for a part":     {[]attempt{{8 * gib, ended}, {4 * gib, ended}}, 7 * gib},
		"less of one that is cut":    {[]attempt{{8 * gib, ended}, {4 * gib, stopped}}, 8 * gib},
		"cut, and nothing was known": {[]attempt{{4 * gib, stopped}}, 4 * gib},
	} {
		p := NewPredictor(nil)
		var known []job.Prediction
		for _, a := range c.seen {
			if y := p.ObserveMemory(train, a.peak, a.ended, noon); y != nil {
				known = append(known, *y)
			}
		}
		other := Kind{UID: 1, Milli: 500, Shape: "train"}
		if got := p.Memory(other); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		if got := NewPredictor(known).Memory(train); got != c.want {
			t.Errorf("%s: %d after a restart, want %d", name, got, c.want)
		}
		for _, stranger := range []Kind{{UID: 2, Milli: 1000, Shape: "train"}, {UID: 1, Milli: 1000, Shape: "x"}, {UID: 1, Milli: 1000}} {
			if got := p.Memory(stranger); got != 0 {
				t.Errorf("%s: %d is known of %+v", name, got, stranger)
			}
		}
	}
}

// Knowledge about memory says nothing about run times. Nothing is learned from a job without a
// known command.
func TestMemoryAlone(t *testing.T) {
	p := NewPredictor(nil)
	before := p.Estimate(Kind{UID: 1, Milli: 1000, Shape: "train"})
	y := p.ObserveMemory(Kind{UID: 1, Milli: 1000, Shape: "train"}, gib, true, noon)
	if after := NewPredictor([]job.Prediction{*y}).Estimate(Kind{UID: 1, Milli: 1000, Shape: "train"}); after.Median != before.Median {
		t.Errorf("expected %s before, %s after", before.Median, after.Median)
	}
	if y := p.ObserveMemory(Kind{UID: 1, Milli: 1000}, gib, true, noon); y != nil {
		t.Errorf("learned %+v", y)
	}
	y.PeakBytes = math.MaxInt64 // as in a file that somebody changed
	if got := NewPredictor([]job.Prediction{*y}).Memory(Kind{UID: 1, Shape: "train"}); got != job.MaxSize {
		t.Errorf("believes %d", got)
	}
}
