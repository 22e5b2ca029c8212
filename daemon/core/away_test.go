package core_test

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// If a job started while no daemon ran, the time since its placement is charged only once.
func TestChargedFromPlacement(t *testing.T) {
	for _, away := range []time.Duration{10 * time.Minute, 50 * time.Second} {
		t.Run(away.String(), func(t *testing.T) { chargedAfter(t, away) })
	}
}

func chargedAfter(t *testing.T, away time.Duration) {
	w := newWorld(1, t.Logf)
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	w.queue(func(r *job.Request) { r.GPUMilli = job.WholeGPU })
	w.step(w.answer(0), -1) // the sample of the GPU
	w.answer(0)             // the start reaches systemd, but its answer is lost
	w.now = w.now.Add(away)
	w.revive()
	w.step(w.listed(), -1)
	w.revive()
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	if a := w.jobs[1].Attempt; w.now.Sub(a.StartedAt) != away || w.now.Sub(a.PlacedAt) != away {
		t.Errorf("at %v it was placed at %v and began at %v", w.now, a.PlacedAt, a.StartedAt)
	}
	w.units[1].Phase = core.Exited
	w.step(core.Changed{Job: 1}, -1)
	w.settle()
	if used := time.Duration(w.usage["u1001"].Micro) * time.Microsecond; w.jobs[1].State != job.Completed || used < away-2*time.Second || used > away+2*time.Second {
		t.Errorf("the job is %s, and %v are charged: %v", w.jobs[1].State, used, w.usage)
	}
}

// If systemd could not start a job for some time, the job is soon tried again, even if the clock is
// set back by a day while no daemon runs.
func TestStartAgainAfterClock(t *testing.T) {
	w := newWorld(1, t.Logf)
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	w.unable = true
	w.queue(nil)
	w.settle()
	if j := w.jobs[1]; j.State != job.Queued || j.NotBefore.IsZero() {
		t.Fatalf("it is %s until %v", j.State, j.NotBefore)
	}
	w.unable = false
	w.now = w.now.Add(-24 * time.Hour)
	w.revive()
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	w.now = w.now.Add(time.Minute)
	w.step(core.Tick{}, -1)
	w.step(w.sample(0), -1)
	w.settle()
	if j := w.jobs[1]; j.State != job.Running {
		t.Errorf("after a minute it is %s until %v", j.State, j.NotBefore)
	}
}

// If a job is cancelled before the units are listed, it is charged for its own time, not for the
// time since its owner's last job ended.
func TestChargedBeforeListing(t *testing.T) {
	w := runningWorld(t, 1, nil)
	w.units[1].Phase = core.Exited
	w.step(core.Changed{Job: 1}, -1)
	w.settle()
	w.now = w.now.Add(time.Hour)
	w.step(w.sample(^uint64(0)), -1)
	w.queue(nil)
	w.settle()
	w.now = w.now.Add(time.Minute)
	w.revive()
	w.token++
	w.step(core.Command{Token: w.token, Who: job.Actor{Admin: true}, What: job.Command{Kind: job.CommandCancel, Job: 2}}, -1)
	w.settle()
	if used := time.Duration(w.usage["u1001"].Micro) * time.Microsecond; w.jobs[2].State != job.Cancelled || used > 62*time.Second || used < 58*time.Second {
		t.Errorf("the job is %s, and %v are charged", w.jobs[2].State, used)
	}
}

// If a job is cancelled before the units are listed, the recorded use of its owner also covers the
// owner's other jobs. These jobs are charged once, even if the daemon dies right after that.
func TestOthersAreChargedBeforeListing(t *testing.T) {
	for name, dies := range map[string]bool{"and goes on": false, "and dies": true} {
		t.Run(name, func(t *testing.T) {
			w := runningWorld(t, 2, nil)
			w.queue(nil)
			w.settle()
			w.now = w.now.Add(time.Minute)
			w.revive()
			w.step(core.Command{Who: job.Actor{Admin: true}, What: job.Command{Kind: job.CommandCancel, Job: 2}}, -1)
			w.settle()
			checkUse(t, w, 2*time.Minute)
			w.now = w.now.Add(time.Minute)
			if dies {
				w.revive()
			}
			w.step(w.listed(), -1)
			w.step(w.sample(0), -1)
			w.now = w.now.Add(time.Minute)
			w.step(core.Command{Who: job.Actor{Admin: true}, What: job.Command{Kind: job.CommandCancel, Job: 1}}, -1)
			w.settle()
			checkUse(t, w, 4*time.Minute)
		})
	}
}

// checkUse checks the recorded use of the only user, to within a second.
func checkUse(t *testing.T, w *world, want time.Duration) {
	t.Helper()
	if used := time.Duration(w.usage["u1001"].Micro) * time.Microsecond; used < want-time.Second || used > want+time.Second {
		t.Errorf("%v are charged, want %v", used, want)
	}
}
