package tracked

import (
	"fmt"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// A parked job holds no GPU, and may get exactly what it asked for again.
func TestParkedJobHoldsNothing(t *testing.T) {
	half := job.Allocation{GPU: contract.GPU{UUID: "a", Milli: 500}}
	b := NewBook(1)
	l := &Job{Job: &job.Job{
		ID: 7, State: job.Running, Request: job.Request{GPUMilli: 500}, Attempt: &job.Attempt{Number: 1, GPUs: []job.Allocation{half}},
	}}
	b.Add(l)
	b.Sort(l)
	for _, c := range []struct {
		park job.ParkState
		want int
	}{{job.NotParked, 500}, {job.ParkTakes, 500}, {job.IsParked, 0}, {job.ParkGives, 500}} {
		l.Park = c.park
		holds := c.want > 0
		if b.Holds(7, "a") != holds || b.Held("a") != holds || (l.UsesNow() != nil) != holds || b.Awaited("a") == holds {
			t.Errorf("%q: held %t and %t, uses %v, awaited %t", c.park, b.Holds(7, "a"), b.Held("a"), l.UsesNow(), b.Awaited("a"))
		}
		if b.ShareHeld("a") != c.want || b.ChargedOfParts()["a"] != c.want || l.HeldMilli() != c.want || l.QuotaMilli() != 500 {
			t.Errorf("%q: the GPU is held to %d, charged %v", c.park, b.ShareHeld("a"), b.ChargedOfParts())
		}
		b.CheckHeld(func(n int, format string, args ...any) {
			t.Errorf("%q: %d: "+format, append([]any{c.park, n}, args...)...)
		})
	}
	l.Attempt.GPUs[0].Milli = 250
	said := ""
	if b.CheckHeld(func(_ int, format string, args ...any) { said = fmt.Sprintf(format, args...) }); said == "" {
		t.Error("a job that got back less than it asked for is no breach")
	}
}

// A parked job wakes when it works. What it does while it is parked or unparked does not count.
func TestParkedJobWakes(t *testing.T) {
	began := time.Date(2026, 1, 4, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		park  job.Parking
		every time.Duration
		takes []time.Duration // CPU time between two measurements, from the first one on
		want  int             // the measurement at which it wakes; 0: never
	}{
		"asleep":          {job.Parking{Park: job.IsParked, ParkAwake: true}, time.Second, []time.Duration{9e9, 0, 1e7, 1e7}, 0},
		"at once":         {job.Parking{Park: job.IsParked, ParkAwake: true}, time.Second, []time.Duration{9e9, 21e7}, 2},
		"a little":        {job.Parking{Park: job.IsParked, ParkAwake: true}, 5 * time.Second, []time.Duration{9e9, 2e8, 2e8, 2e8}, 0},
		"bit by bit":      {job.Parking{Park: job.IsParked, ParkAwake: true}, time.Second, []time.Duration{0, 6e7, 6e7, 6e7, 6e7}, 5},
		"after a while":   {job.Parking{Park: job.IsParked, ParkAwake: true}, 3 * time.Second, []time.Duration{0, 1e8, 1e8, 0, 21e7}, 5},
		"measured rarely": {job.Parking{Park: job.IsParked, ParkAwake: true}, time.Minute, []time.Duration{0, 24e8, 241e7}, 3},
		"frozen":          {job.Parking{Park: job.IsParked}, time.Second, []time.Duration{0, 9e9}, 0},
		"woken already":   {job.Parking{Park: job.IsParked, ParkAwake: true, ParkWants: true}, time.Second, []time.Duration{0, 9e9}, 0},
		"being parked":    {job.Parking{Park: job.ParkTakes, ParkAwake: true}, time.Second, []time.Duration{0, 9e9}, 0},
	} {
		l := &Job{Job: &job.Job{State: job.Running, Life: job.Life{Parking: c.park}}}
		at, cpu, woke := began, time.Duration(0), 0
		for i, took := range c.takes {
			cpu, at = cpu+took, at.Add(c.every)
			if l.Wakes(job.Span(cpu), at) && woke == 0 {
				woke = i + 1
			}
		}
		if woke != c.want {
			t.Errorf("%s: woke at measurement %d, want %d", name, woke, c.want)
		}
	}
}
