package core_test

import (
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
)

// addOutside puts a process of alice on GPU 0, outside any job's unit. The process has the given
// age.
func (w *world) addOutside(pid int, age time.Duration) {
	g := &w.gpus[0]
	g.Processes = append(g.Processes, gpu.Process{PID: pid, UID: 1001, Start: uint64(pid), Age: age, Kind: gpu.KindCompute})
}

func (w *world) on(pid int) bool {
	return slices.ContainsFunc(w.gpus[0].Processes, func(p gpu.Process) bool { return p.PID == pid })
}

// state returns the reported state of GPU 0.
func (w *world) state() string { return string(w.core.View(job.Query{}, w.now).GPUs[0].State) }

// waitAndSample lets time pass, ages the processes, and then samples the GPUs.
func (w *world) waitAndSample(after time.Duration) {
	w.now = w.now.Add(after)
	for i := range w.gpus[0].Processes {
		w.gpus[0].Processes[i].Age += after
	}
	w.step(core.Tick{}, -1)
	w.settle()
	w.step(w.sample(0), -1)
	w.settle()
}

// startUnanswered starts a job and returns systemd's answer, which it does not give to the core.
func (w *world) startUnanswered() core.Event {
	for {
		if _, is := w.pending[0].(core.Start); is {
			return w.answer(0)
		}
		w.step(w.answer(0), -1)
	}
}

// A process that began before the job ended is a stray of the job, and a process that began later
// is not, no matter when the scheduler learns of the end. If the time of the end is unknown, the
// process keeps the GPU out of service and is not signalled.
func TestStraysAreDatedByTheEnd(t *testing.T) {
	const during, after = 7, 8
	for _, c := range []struct {
		name        string
		away, spent bool // away: the command ended while no daemon ran; spent: no process was left in its unit
		gone        bool // the unit is gone when the daemon looks for it
		dated       bool // the unit shows when its command ended
		during      bool // a process that began before the end is signalled
		free        bool // a process that began after the end does not block the GPU
	}{
		{name: "a hint is lost", spent: true, dated: true, during: true, free: true},
		{name: "away", away: true, spent: true, dated: true, during: true, free: true},
		{name: "something was left", away: true, dated: true, during: true},
		{name: "undated", away: true, spent: true},
		{name: "gone", away: true, gone: true},
		{name: "gone, a hint is lost", gone: true},
	} {
		w := runningWorld(t, 1, nil)
		w.policy.MaxForeignBytes = 0
		w.now = w.now.Add(time.Hour)
		if c.away {
			w.revive()
		}
		exitNow(w, contract.Exit{})
		u := w.units[1]
		if u.Spent = c.spent; !c.dated {
			u.ended = time.Time{}
		}
		if c.spent || c.gone {
			w.clear(u)
		}
		if c.gone {
			delete(w.units, 1)
		}
		w.now = w.now.Add(time.Minute)
		w.addOutside(during, 90*time.Second)
		w.addOutside(after, 30*time.Second)
		if !c.away { // the daemon sees the processes while it believes that the job runs
			w.waitAndSample(0)
		}
		w.step(w.listed(), -1)
		w.settle()
		for range 6 {
			w.waitAndSample(time.Second)
		}
		if j := w.jobs[1]; j.State != job.Completed && !c.gone || j.State != job.Queued && c.gone && j.State != job.Lost {
			t.Errorf("%s: the job is %s", c.name, j.State)
		}
		if !w.on(after) {
			t.Errorf("%s: what began after the end was ended", c.name)
		}
		if w.on(during) == c.during {
			t.Errorf("%s: what began before the end is there: %t", c.name, w.on(during))
		}
		w.drop(0, func(p gpu.Process) bool { return p.PID == during })
		w.waitAndSample(time.Second)
		if got := w.jobs[1].Attempt.Result.Left; !c.during && !got.IsZero() {
			t.Errorf("%s: the result says %v", c.name, got)
		}
		if state := w.state(); (state == "cleaning") == c.free {
			t.Errorf("%s: with what began after the end the GPU is %s", c.name, state)
		}
	}
}

// A job that is being stopped runs until the stop has finished. A process that begins in the time
// between SIGTERM and SIGKILL belongs to the job.
func TestProcessesOfTheGraceAreTheJobs(t *testing.T) {
	w := runningWorld(t, 1, nil)
	w.now = w.now.Add(time.Hour)
	w.step(core.Command{Who: job.Actor{UID: 1001, User: "alice"}, What: job.Command{Kind: job.CommandCancel, Job: 1}}, -1)
	w.now = w.now.Add(20 * time.Second)
	w.addOutside(7, 10*time.Second)
	_, is := w.pending[0].(core.Stop)
	stopped, ok := w.answer(0).(core.Stopped)
	if !is || !ok {
		t.Fatal("it is not stopped")
	}
	stopped.Before.Old = 20 * time.Second // the unit was read before SIGTERM was sent
	w.step(stopped, -1)
	for range 6 {
		w.waitAndSample(time.Second)
	}
	if w.on(7) {
		t.Error("what the job began in its grace is still there")
	}
}

// While a start has not been answered, its unit is inspected at each listing, and when something
// happens to the unit: the job may have begun, and even ended. The answer may still arrive.
func TestUnansweredStartIsInspected(t *testing.T) {
	for _, listed := range []bool{false, true} {
		w := newWorld(1, t.Logf)
		w.step(w.listed(), -1)
		w.step(w.sample(0), -1)
		w.queue(nil)
		late := w.startUnanswered()
		w.step(core.Changed{Job: 1}, -1)
		if len(w.pending) > 0 {
			t.Errorf("a quick start is inspected: %v", w.pending)
		}
		w.now = w.now.Add(2 * time.Second)
		exitNow(w, contract.Exit{})
		if listed {
			w.step(w.listed(), -1)
		} else {
			w.step(core.Changed{Job: 1}, -1)
		}
		early := next[core.Inspect](t, w)
		if !early.Early || early.Whose.Attempt != 1 {
			t.Errorf("the look is %+v", early)
		}
		stale := core.Inspected{Job: 1, Attempt: 1, Early: true, OK: true} // an answer from before the unit existed
		w.step(stale, -1)
		w.pending = append(w.pending, early)
		w.settle()
		w.step(late, -1)
		w.step(stale, -1)
		w.step(w.sample(0), -1)
		w.settle()
		if j := w.jobs[1]; j.State != job.Completed {
			t.Errorf("listed %t: the job is %s", listed, j.State)
		}
	}
}

// Two jobs of one user share a GPU, and neither start has been answered. When one job has ended,
// the other job's processes do not count as strays of the ended job.
func TestUnansweredSharerIsNotAStray(t *testing.T) {
	half := func(r *job.Request) { r.GPUMilli = 500 }
	w := runningWorld(t, 1, half)
	w.queue(half)
	late := w.startUnanswered()
	w.now = w.now.Add(10 * time.Second)
	w.clear(w.units[2])
	delete(w.units, 2) // the core does not learn that the unit is gone
	w.now = w.now.Add(10 * time.Second)
	w.addOutside(7, 5*time.Second)
	exitNow(w, contract.Exit{})
	w.step(core.Changed{Job: 1}, -1)
	w.settle()
	for range 4 {
		w.waitAndSample(time.Second)
	}
	if state := w.state(); state != "cleaning" {
		t.Errorf("with what job 1 left the GPU is %s", state)
	}
	w.step(late, -1)
	w.settle()
}
