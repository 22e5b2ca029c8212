package core_test

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// What a power cut or a shutdown takes ended when the machine was seen to be on last, and nobody
// is charged for the time in which it was off, in whatever state the job was, and also where the
// daemon that finds that out dies of it.
func TestTimeWithTheMachineOffIsNobodys(t *testing.T) {
	const weekend = 60 * time.Hour
	for name, c := range map[string]struct {
		last core.Event    // of the machine
		ran  time.Duration // of the two minutes
		upTo func(w *world)
	}{
		"power cut": {nil, time.Minute, nil},
		"shutdown":  {core.Leaving{}, 2 * time.Minute, nil},
		"daemon":    {core.Closing{}, 2 * time.Minute, nil},
		"suspended": {core.Closing{}, time.Minute, func(w *world) {
			w.policy.MaxSuspend = time.Hour
			w.step(core.Configured{Policy: w.policy}, -1)
			w.step(core.Command{Who: job.Actor{Admin: true}, What: job.Command{Kind: job.CommandSuspend, Job: 1}}, -1)
		}},
		"stopping": {core.Closing{}, 2 * time.Minute, func(w *world) {
			w.step(core.Command{Who: job.Actor{Admin: true}, What: job.Command{Kind: job.CommandRequeue, Job: 1}}, -1)
		}},
	} {
		w := running(t, 1, nil)
		began := w.now
		w.now = w.now.Add(time.Minute)
		w.step(w.listed(), -1)
		if c.upTo != nil {
			c.upTo(w)
		}
		w.now = w.now.Add(time.Minute)
		if c.last != nil {
			w.step(c.last, -1)
		}
		w.now = w.now.Add(weekend)
		w.reboot()
		w.now = w.now.Add(time.Hour)
		w.revive() // the daemon died before it had done anything about that
		w.step(w.listed(), -1)
		w.settle()
		w.step(w.sample(0), -1)
		w.settle()
		j := w.jobs[1]
		first := w.ends[0]
		if got := first.EndedAt.Sub(began); got > 2*time.Minute || name != "suspended" && got != c.ran {
			t.Errorf("%s: the attempt ended %s after it began", name, got)
		}
		if j.Served != c.ran {
			t.Errorf("%s: the job was served %s, want %s", name, j.Served, c.ran)
		}
		used := time.Duration(w.usage["u1001"].Micro) * time.Microsecond
		if ran := first.EndedAt.Sub(began); used > ran || used < ran/2 { // it decays over the weekend
			t.Errorf("%s: alice has used %s", name, used)
		}
	}
}
