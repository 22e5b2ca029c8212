package core_test

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/gpu"
)

// Each of these tests reproduces a bug that daemon/dst found, in as few steps as possible.

// runningWorld returns a world in which one job runs. The argument change may alter the
// request of that job.
func runningWorld(t *testing.T, gpus int, change func(*job.Request)) *world {
	w := newWorld(gpus, t.Logf)
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	w.queue(change)
	w.settle()
	if j := w.jobs[1]; j.State != job.Running {
		t.Fatalf("the job is %s", j.State)
	}
	return w
}

func (w *world) queue(change func(*job.Request)) {
	w.token++
	requeue := true
	s := job.Submission{Owner: job.Owner{UID: 1001, User: "alice"}, Label: job.Label{Name: "j"}, Request: job.Request{GPUMilli: job.WholeGPU, Requeue: &requeue}}
	if change != nil {
		change(&s.Request)
	}
	w.step(core.Submit{Token: w.token, Submission: s}, -1)
}

// next removes the first pending action of type A, and returns it.
func next[A core.Action](t *testing.T, w *world) A {
	t.Helper()
	for i, a := range w.pending {
		if found, ok := a.(A); ok {
			w.pending = append(w.pending[:i:i], w.pending[i+1:]...)
			return found
		}
	}
	var none A
	t.Fatalf("no %T among %v", none, w.pending)
	return none
}

// After a restart, a job leaves its GPU before a sample has shown that GPU. A dead process of the
// job stays on it.
func TestUnsampledGPUIsCleaned(t *testing.T) {
	for name, leave := range map[string]func(*world){
		"after the restart":  func(w *world) { w.revive() },
		"before the restart": func(w *world) { w.step(w.listed(), -1); w.settle(); w.revive() },
	} {
		t.Run(name, func(t *testing.T) {
			w := runningWorld(t, 1, nil)
			w.linger = true
			w.units[1].Phase = core.Exited
			w.gpus[0].Processes = []gpu.Process{{PID: 1001, UsedBytes: gib, Dead: true}}
			leave(w)
			w.step(w.listed(), -1)
			if len(w.pending) > 0 {
				w.step(w.answer(0), -1)
			}
			w.queue(nil)
			w.step(w.sample(0), -1)
			w.settle()
			if a, b := w.jobs[1].State, w.jobs[2].State; a != job.Completed || b != job.Queued {
				t.Errorf("the first job is %s and the next one %s", a, b)
			}
		})
	}
}

// The machine was off for longer than a running job's limit. The job was ended by the shutdown, not
// by its limit.
func TestLimitBeforeTheUnitsAreListed(t *testing.T) {
	w := runningWorld(t, 1, func(r *job.Request) { r.TimeLimit = job.Span(time.Minute) })
	w.now = w.now.Add(time.Hour)
	w.reboot()
	if d := w.core.Deadline(); !d.IsZero() {
		t.Errorf("a tick is wanted at %v", d)
	}
	w.step(core.Tick{Retry: true}, -1)
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	w.settle()
	if j := w.jobs[1]; j.State != job.Running || j.Attempt.Number != 2 {
		t.Errorf("the job is %s in attempt %d, with result %v", j.State, j.Attempt.Number, j.Result)
	}
}

// A failed job is cancelled while its unit is being stopped. Once the cancel is acknowledged, the
// job gets no other attempt.
func TestCancelOfAnEndingJob(t *testing.T) {
	w := runningWorld(t, 1, func(r *job.Request) { r.Retries = 2 })
	w.units[1].Phase, w.units[1].Exit.Code = core.Exited, 3
	w.step(core.Changed{Job: 1}, -1)
	w.step(w.answer(0), -1)
	if j := w.jobs[1]; j.State != job.Ending {
		t.Fatalf("the job is %s", j.State)
	}
	w.step(core.Command{Who: job.Actor{UID: 1001, User: "alice"}, What: job.Command{Kind: job.CommandCancel, Job: 1}}, -1)
	w.settle()
	if j := w.jobs[1]; j.State != job.Failed || j.Result.ExitCode != 3 {
		t.Errorf("the job is %s: %+v", j.State, j.Result)
	}
}

// A job ends by itself just before a stop that was decided already. The end is on record before the
// unit is collected.
func TestEndIsOnRecordBeforeItsUnitGoes(t *testing.T) {
	w := runningWorld(t, 1, nil)
	w.step(core.Command{Who: job.Actor{UID: 1001, User: "alice"}, What: job.Command{Kind: job.CommandCancel, Job: 1}}, -1)
	next[core.Stop](t, w)
	w.units[1].Phase = core.Exited
	w.step(core.Stopped{Job: 1, Attempt: 1, Before: w.units[1].Unit}, -1)
	if r := w.jobs[1].Attempt.Result; r == nil || r.Outcome != job.Completed {
		t.Errorf("on record is %+v", r)
	}
	if s := next[core.Stop](t, w); s.InspectFirst {
		t.Error("the unit is inspected again")
	}
	w.step(core.Stopped{Job: 1, Attempt: 1, OK: true}, -1)
	if j := w.jobs[1]; j.State != job.Completed {
		t.Errorf("the job is %s", j.State)
	}
}

// A back-off began while the clock was wrong. When the clock is set back, the back-off still ends
// in time, even if the daemon restarted in between.
func TestBackoffEndsInTimeWhenTheClockIsSetBack(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ahead := job.Job{
		ID: 1, Owner: job.Owner{UID: 1001, User: "alice"}, Request: job.Request{GPUMilli: job.WholeGPU, Retries: 3, Backoff: job.Span(time.Minute)},
		SubmittedAt: now, ChangedAt: now, State: job.Queued, Life: job.Life{Failures: 1, QueuedAt: now, NotBefore: now.Add(30*time.Hour + time.Minute)},
	}
	c := core.New(site.Policy{}, "boot1", job.Restored{NextID: 2, Jobs: []job.Job{ahead}})
	c.Step(core.Listed{Boot: "boot1"}, now.Add(30*time.Hour))
	effects := c.Step(core.Tick{Clock: -30 * time.Hour}, now)
	want := now.Add(time.Minute)
	if len(effects.Records) != 1 || !effects.Records[0].Job.NotBefore.Equal(want) {
		t.Errorf("records %+v, want a try at %v", effects.Records, want)
	}
}

// The site withdraws a GPU while a job holds a part of it. No job gets the rest of the GPU.
func TestSharedGPUIsWithdrawn(t *testing.T) {
	half := func(r *job.Request) { r.GPUMilli = job.WholeGPU / 2 }
	w := runningWorld(t, 2, half)
	p := w.policy
	p.OnlyGPUs = []int{1 - w.jobs[1].Attempt.GPUs[0].Index}
	w.step(core.Configured{Policy: p}, -1)
	for range 3 {
		w.queue(half)
	}
	w.settle()
	for id := job.ID(2); id <= 3; id++ {
		if j := w.jobs[id]; j.State != job.Running || j.Attempt.GPUs[0].Index != p.OnlyGPUs[0] {
			t.Errorf("job %d is %s on %v", id, j.State, j.GPUIndexes())
		}
	}
	if j := w.jobs[4]; j.State != job.Queued {
		t.Errorf("job 4 is %s on %v", j.State, j.GPUIndexes())
	}
}

// A GPU that is not clean is withdrawn and offered again. The GPU is still not clean, even if all
// that is left on it is memory without a process.
func TestWithdrawnGPUStaysUnclean(t *testing.T) {
	w := runningWorld(t, 2, nil)
	at := w.jobs[1].Attempt.GPUs[0].Index
	w.linger = true
	w.units[1].Phase = core.Exited
	w.gpus[at].MemUsedBytes, w.gpus[at].Processes = 20*gib, nil
	w.step(core.Changed{Job: 1}, -1)
	w.settle()
	p := w.policy
	p.OnlyGPUs = []int{1 - at}
	w.step(core.Configured{Policy: p}, -1)
	w.settle()
	if v := w.core.View(job.Query{}, w.now); len(v.GPUs) != 1 {
		t.Fatalf("%d GPUs are shown", len(v.GPUs))
	}
	w.step(core.Configured{Policy: w.policy}, -1)
	w.settle()
	if v := w.core.View(job.Query{}, w.now).GPUs[at]; v.State != "cleaning" {
		t.Errorf("the GPU is %s %s", v.State, v.StateDetail)
	}
	w.gpus[at].MemUsedBytes = 0
	w.now = w.now.Add(time.Minute)
	w.step(w.sample(^uint64(0)), -1)
	if v := w.core.View(job.Query{}, w.now).GPUs[at]; v.State != "free" {
		t.Errorf("the GPU is %s %s", v.State, v.StateDetail)
	}
}

// A dead process of an unknown job is on a GPU when the daemon starts. It does not affect a job
// that holds the whole GPU, and the daemon makes up no job for it. If the GPU is shared, jobs get
// no further parts of the GPU.
func TestDeadProcessAtTheDaemonsStart(t *testing.T) {
	t.Run("whole", func(t *testing.T) { deadAtTheStart(t, nil, "busy") })
	t.Run("shared", func(t *testing.T) {
		deadAtTheStart(t, func(r *job.Request) { r.GPUMilli, r.GPUMemBytes = 500, 20*gib }, "sick")
	})
}

func deadAtTheStart(t *testing.T, change func(*job.Request), state job.GPUState) {
	w := runningWorld(t, 2, change)
	at := w.jobs[1].Attempt.GPUs[0].Index
	for i := range w.gpus {
		w.gpus[i].Processes = []gpu.Process{{PID: 78, UsedBytes: gib, Dead: true}}
	}
	w.revive()
	w.step(w.listed(), -1)
	for range 2 {
		w.step(w.sample(^uint64(0)), -1)
		w.settle()
		w.now = w.now.Add(40 * time.Second)
	}
	gpus := w.core.View(job.Query{}, w.now).GPUs
	if v := gpus[at]; v.State != state || len(v.Jobs) != 1 {
		t.Errorf("the job's GPU is %s %s", v.State, v.StateDetail)
	}
	if v := gpus[1-at]; v.State != "sick" || words.Say(v.StateDetail) != "a dead process still holds its memory, it needs a reset" {
		t.Errorf("the other GPU is %s %s", v.State, v.StateDetail)
	}
}

// A job returns to the queue before its unit began. Processes of an older unit of the same name
// survive the stop for some time. Once they are gone, the job's GPU is in service again.
func TestReturnedJobWithSurvivors(t *testing.T) {
	w := newWorld(1, t.Logf)
	w.policy.MaxForeignBytes = gib
	w.revive()
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	w.now = w.now.Add(10 * time.Second)
	w.queue(nil)
	look := next[core.Sample](t, w)
	w.gpus[0].Processes = []gpu.Process{{PID: 1001, UID: 1002, UsedBytes: gib}}
	w.step(w.sample(look.Number), -1)
	w.gpus[0].Processes = nil
	for _, left := range []string{"process 4711 did not end after SIGKILL", ""} {
		stop := next[core.Stop](t, w)
		w.now = w.now.Add(time.Hour)
		w.step(core.Stopped{Job: 1, Attempt: stop.Attempt, OK: left == "", Left: left}, -1)
		w.step(core.Tick{Retry: true}, -1)
	}
	if err := w.core.Check(); err != nil {
		t.Error(err)
	}
	w.settle()
	if j := w.jobs[1]; j.State != job.Running {
		t.Errorf("the job is %s", j.State)
	}
}

// Jobs are charged for the time that passed, even if the clock is set meanwhile. If the clock is
// set by less than a minute, as for a correction, no job is recorded.
func TestSettingTheClockChargesNobody(t *testing.T) {
	for _, by := range []time.Duration{-30 * time.Hour, -40 * time.Second, 40 * time.Second, 30 * time.Hour} {
		w := runningWorld(t, 1, nil)
		placed := w.now
		w.now = w.now.Add(by)
		effects := w.core.Step(core.Tick{Clock: by}, w.now)
		if small := by.Abs() < time.Minute; small != (len(effects.Records) == 0) {
			t.Errorf("set by %v: %d records", by, len(effects.Records))
		}
		w.now = w.now.Add(2 * time.Minute)
		w.units[1].Phase = core.Exited
		w.step(core.Changed{Job: 1}, -1)
		w.settle()
		had := w.now.Sub(placed) - by
		if is := time.Duration(w.usage["u1001"].Micro) * time.Microsecond; (is-had).Abs() > time.Second || had < 2*time.Minute {
			t.Errorf("set by %v: charged %v, had the GPU for %v", by, is, had)
		}
	}
}

// If the sample for a start has become too old, the start waits for another sample, and nothing is
// recorded. If the new sample shows the GPU in use, the job returns to the queue.
func TestStaleStartSamplesAgain(t *testing.T) {
	for _, taken := range []bool{false, true} {
		w := newWorld(1, t.Logf)
		w.step(w.listed(), -1)
		w.step(w.sample(0), -1)
		w.queue(nil)
		w.step(w.sample(next[core.Sample](t, w).Number), -1)
		if s := next[core.Start](t, w); s.SampledAt.IsZero() {
			t.Error("the start relies on no sample")
		}
		w.step(core.StartFailed{Job: 1, Attempt: 1, How: core.StartStale}, -1)
		next[core.Inspect](t, w)
		effects := w.core.Step(core.Inspected{Job: 1, Attempt: 1, OK: true}, w.now)
		if len(effects.Records) != 0 || len(effects.Actions) != 1 {
			t.Fatalf("%+v", effects)
		}
		look := effects.Actions[0].(core.Sample)
		if taken {
			w.gpus[0].Processes = []gpu.Process{{PID: 77, UID: 1002, UsedBytes: 40 * gib, Kind: gpu.KindCompute}}
		}
		w.step(w.sample(look.Number), -1)
		if taken {
			if j := w.jobs[1]; j.Attempt.Result == nil || j.Attempt.Result.Cause != job.StopTaken {
				t.Errorf("the GPU is taken, and the job %s: %+v", j.State, j.Attempt)
			}
		} else if s := next[core.Start](t, w); s.Job.Attempt.Number != 1 {
			t.Errorf("started is %+v", s)
		}
	}
}
