package core_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// expectedAfter returns the expected run time of a waiting job. Before, the job's user ran 25 jobs
// of 3 s and one job of the given length, which ended in the given way. Other users' jobs ran as
// long as expected.
func expectedAfter(t *testing.T, long time.Duration, end func(*world, job.ID)) time.Duration {
	w := newWorld(1, t.Logf)
	w.step(w.listed(), -1)
	w.waitAndTick(0)
	itself := func(w *world, id job.ID) {
		w.units[id].Phase = core.Exited
		w.step(core.Changed{Job: id}, -1)
	}
	run := func(d time.Duration, end func(*world, job.ID), bob bool) {
		if bob {
			w.step(core.Submit{Submission: job.Submission{Owner: job.Owner{UID: 1002, User: "bob"}, Request: job.Request{GPUMilli: job.WholeGPU}}}, -1)
		} else {
			w.queue(nil)
		}
		w.waitAndTick(time.Second)
		w.now = w.now.Add(d)
		if end == nil {
			end = itself
		}
		end(w, job.ID(len(w.jobs)))
		w.settle()
		w.waitAndTick(time.Second)
	}
	for range 20 {
		run(time.Hour, nil, true)
	}
	for range 25 {
		run(3*time.Second, nil, false)
	}
	run(long, end, false)
	if w.jobs[46].State == job.Running { // the job was requeued, and runs again
		itself(w, 46)
		w.settle()
		w.waitAndTick(time.Second)
	}
	w.queue(nil)
	w.waitAndTick(time.Second)
	w.queue(nil)
	v := w.core.View(job.Query{Reasons: true, IDs: []job.ID{48}}, w.now)
	if len(v.Jobs) != 1 || v.Jobs[0].State != job.Queued {
		t.Fatalf("%+v", v.Jobs)
	}
	return v.Jobs[0].Expected
}

func commanded(kind job.CommandKind, by job.Actor) func(*world, job.ID) {
	return func(w *world, id job.ID) {
		w.token++
		w.step(core.Command{Token: w.token, Who: by, What: job.Command{Kind: kind, Job: id}}, -1)
	}
}

// looksUnlaunched returns a function that ends a job's command. The end looks as if the launch had
// failed at the given step.
func looksUnlaunched(step contract.Step, errno syscall.Errno) func(*world, job.ID) {
	return func(w *world, id job.ID) {
		u := w.units[id]
		u.Phase, u.Exit = core.Exited, contract.Exit{Code: step.ExitStatus(), Launch: step, Errno: int(errno)}
		w.step(core.Changed{Job: id}, -1)
		w.settle()
		for w.jobs[id].State == job.Queued { // the scheduler tries the job again
			w.now = w.now.Add(time.Minute)
			w.step(core.Tick{}, -1)
			w.settle()
		}
	}
}

// If an owner ends a job after its expected run time, the scheduler learns as much from the job as
// from one that ended by itself. Without this rule, a user could make long jobs look short with
// many short runs. An administrator's cancel teaches nothing of that kind.
func TestOwnersCancelTeachesRunTimes(t *testing.T) {
	owner, admin := job.Actor{UID: 1001, User: "alice"}, job.Actor{User: "root", Admin: true}
	const long = 10 * time.Hour
	honest, before := expectedAfter(t, long, nil), expectedAfter(t, 3*time.Second, nil)
	if honest < 4*before || before > time.Minute {
		t.Fatalf("after an end by itself %s are expected, without one %s", honest, before)
	}
	for name, end := range map[string]func(*world, job.ID){
		"a cancel": commanded(job.CommandCancel, owner), "a requeue": commanded(job.CommandRequeue, owner),
		"an end as of a set-up that failed":           looksUnlaunched(contract.StepSetup, 0),
		"an end as of a missing command":              looksUnlaunched(contract.StepExec, syscall.ENOENT),
		"an end as of a command that is out of reach": looksUnlaunched(contract.StepExec, syscall.EIO),
	} {
		if got := expectedAfter(t, long, end); got < honest/2 || got > 2*honest {
			t.Errorf("%s by its owner: %s are expected, and %s after an end by itself", name, got, honest)
		}
	}
	for name, end := range map[string]func(*world, job.ID){
		"a cancel": commanded(job.CommandCancel, admin), "a requeue": commanded(job.CommandRequeue, admin),
	} {
		if got := expectedAfter(t, long, end); got > 2*before {
			t.Errorf("%s by an administrator: %s are expected, and %s before", name, got, before)
		}
	}
	if got := expectedAfter(t, 2*time.Second, commanded(job.CommandCancel, owner)); got < before/2 {
		t.Errorf("a cancel that came early: %s are expected, and %s before", got, before)
	}
	if got := expectedAfter(t, 2*time.Second, looksUnlaunched(contract.StepSetup, 0)); got < before/2 {
		t.Errorf("a launch that failed early: %s are expected, and %s before", got, before)
	}
}
