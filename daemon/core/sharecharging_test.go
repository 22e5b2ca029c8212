package core_test

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// waitAndTick lets time pass, and then samples the GPUs.
func (w *world) waitAndTick(d time.Duration) {
	w.now = w.now.Add(d)
	w.step(core.Tick{}, -1)
	w.step(w.sample(0), -1)
	w.settle()
}

// askForPart makes a job ask for a part of one GPU.
func askForPart(milli, gpu int) func(*job.Request) {
	return func(r *job.Request) { r.GPUMilli, r.GPUIDs = milli, []int{gpu} }
}

// checkGPUUse checks the recorded use of the only user.
func checkGPUUse(t *testing.T, w *world, gpus, charge time.Duration) {
	t.Helper()
	u := w.usage["u1001"]
	for _, x := range []struct {
		what     string
		is, want time.Duration
	}{{"GPU time", time.Duration(u.Micro), gpus}, {"charge", time.Duration(u.Counts.Charge), charge}} {
		if is := x.is * time.Microsecond; is < x.want-x.want/50-time.Minute || is > x.want+x.want/50+time.Minute {
			t.Errorf("%s: %v, want %v", x.what, is, x.want)
		}
	}
}

func (w *world) cancel(id job.ID) {
	w.token++
	w.step(core.Command{Token: w.token, Who: job.Actor{Admin: true}, What: job.Command{Kind: job.CommandCancel, Job: id}}, -1)
	w.settle()
}

// Jobs that hold a hundredth of each GPU prevent other jobs from getting whole GPUs. While some job
// waits for a whole GPU, these jobs are charged as if they held whole GPUs, even if the daemon
// restarts meanwhile (invariant 12).
func TestSharersPayForTheWholeGPU(t *testing.T) {
	for name, dies := range map[string]bool{"and goes on": false, "and dies": true} {
		t.Run(name, func(t *testing.T) {
			w := runningWorld(t, 2, askForPart(10, 0))
			w.queue(askForPart(10, 1))
			w.settle()
			w.waitAndTick(5 * time.Hour) // no job waits
			w.queue(nil)
			w.settle()
			w.waitAndTick(time.Minute)
			for range 4 {
				w.waitAndTick(30 * time.Minute)
				if dies {
					w.revive()
					w.step(w.listed(), -1)
					w.step(w.sample(0), -1)
				}
			}
			if j := w.jobs[1]; j.Shared != job.WholeGPU {
				t.Errorf("it is charged for %d milli", j.Shared)
			}
			w.cancel(3)
			w.waitAndTick(time.Minute)
			if j := w.jobs[1]; j.Shared != 0 {
				t.Errorf("nobody waits, and it is charged for %d milli", j.Shared)
			}
			w.waitAndTick(5 * time.Hour)
			w.cancel(2)
			w.cancel(1)
			checkGPUUse(t, w, 14*time.Minute, 4*time.Hour+12*time.Minute)
		})
	}
}

// All jobs on a shared GPU together pay for one GPU, in proportion to their parts.
func TestSharersDivideTheGPU(t *testing.T) {
	w := runningWorld(t, 1, askForPart(100, 0))
	w.queue(askForPart(300, 0))
	w.settle()
	w.queue(nil)
	w.settle()
	w.waitAndTick(time.Hour)
	if a, b := w.jobs[1].Shared, w.jobs[2].Shared; a != 250 || b != 750 {
		t.Errorf("they are charged for %d and %d milli", a, b)
	}
	w.cancel(2)
	w.waitAndTick(time.Hour)
	if a := w.jobs[1].Shared; a != 1000 {
		t.Errorf("alone it is charged for %d milli", a)
	}
}

// A job that a quota keeps from starting does not count as waiting for a whole GPU. Nor does a job
// that waits for anything other than the shared GPU as a whole.
func TestSharersPayNothingForJobsUnderQuota(t *testing.T) {
	for name, change := range map[string]func(*world){
		"a quota":      func(w *world) { w.policy.Quotas.Default.GPUMilli = job.WholeGPU },
		"another GPU":  func(*world) {},
		"held":         func(*world) {},
		"asks a part":  func(*world) {},
		"asks no GPUs": func(*world) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2, t.Logf)
			change(w)
			w.revive()
			w.step(w.listed(), -1)
			w.step(w.sample(0), -1)
			w.queue(askForPart(100, 0))
			w.settle()
			w.queue(askForPart(job.WholeGPU, 1))
			w.settle()
			w.queue(map[string]func(*job.Request){
				"a quota": nil, "another GPU": askForPart(job.WholeGPU, 1), "held": func(r *job.Request) { r.Hold = true },
				"asks a part": askForPart(950, 0), "asks no GPUs": func(r *job.Request) { r.GPUMilli, r.MemBytes = 0, 1<<60 },
			}[name])
			w.settle()
			w.waitAndTick(time.Hour)
			if j := w.jobs[1]; j.Shared != 0 || j.State != job.Running {
				t.Errorf("it is %s and charged for %d milli", j.State, j.Shared)
			}
		})
	}
}
