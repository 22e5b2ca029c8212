package core

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// The wait of an array's next task does not include the time in which the array is held or a quota
// keeps it from starting. Time in which both are true is subtracted only once.
func TestArrayGainsNoWaitByBeingHeld(t *testing.T) {
	hour := func(n float64) time.Time { return noon.Add(time.Duration(n * float64(time.Hour))) }
	for name, c := range map[string]struct {
		turn   float64 // the hour at which the previous task started
		capped bool    // whether a quota holds the array back from then until hour 3
		held   float64 // when a hold begins, which lasts until hour 4; 0: no hold
		want   float64 // when the wait of the next task begins
	}{
		"it waits":                    {1, false, 0, 1},
		"held":                        {1, false, 2, 3},
		"capped":                      {1, true, 0, 3},
		"capped and held":             {1, true, 2, 4},
		"held before its turn":        {2, false, 1, 4},
		"capped, and held afterwards": {1, true, 3.5, 3.5},
	} {
		core := New(site.Policy{}, "boot", job.Restored{})
		l := &tracked.Job{Job: &job.Job{}, Account: &sched.Account{UID: 1001, MaxMilli: 1000}}
		l.Request.GPUMilli = job.WholeGPU
		l.QueuedAt, l.Tasks = hour(0), &job.Tasks{}
		away := func(h float64, is bool) {
			if c.held == h {
				core.queue.CountWait(l, !is, hour(h))
			}
		}
		away(1, true)
		core.queue.Queue = sched.NewQueue()
		core.queue.RestartWait(l, hour(c.turn))
		if c.capped {
			l.Account.Milli = 1000
			l.Account.CountCapped(sched.At(hour(c.turn)), false)
		}
		away(2, true)
		l.Account.Milli = 0
		l.Account.CountCapped(sched.At(hour(3)), false)
		away(3.5, true)
		if c.held > 0 {
			core.queue.CountWait(l, true, hour(4))
		}
		core.queue.SettleCapped(l, hour(4))
		if got := core.queue.WaitStart(l.Job); !got.Equal(hour(c.want)) {
			t.Errorf("%s: it waits from %s, want %s", name, got.Sub(noon), hour(c.want).Sub(noon))
		}
	}
}
