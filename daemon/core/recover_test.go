package core_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// lostFile returns a world in which a job runs on one of two GPUs. The disk is empty, so the job's
// record is lost and only its unit reports it.
func lostFile(t *testing.T) (*world, job.Job) {
	w := newWorld(2, t.Logf)
	w.revive()
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	w.token++
	w.step(core.Submit{Token: w.token, Submission: job.Submission{
		Owner: job.Owner{UID: 1001, User: "alice"}, Request: job.Request{GPUMilli: job.WholeGPU},
	}}, -1)
	w.settle()
	ran := w.jobs[1]
	if ran.State != job.Running {
		t.Fatalf("the job is %s", ran.State)
	}
	w.jobs, w.payloads = map[job.ID]job.Job{}, map[job.ID]bool{}
	w.acked = map[job.ID]bool{}
	w.revive()
	return w, ran
}

// listUnknown feeds the core a listing of the units. One of them belongs to a job that is not on
// record.
func listUnknown(w *world, j job.Job) {
	ev := w.listed().(core.Listed)
	ev.Recovered = []job.Job{j}
	w.step(ev, -1)
	w.settle()
	w.step(w.sample(0), -1)
	w.settle()
}

// If a job's record is lost and the job is known only from its unit, it is recorded again. It holds
// its GPU and can end, and its id is not used for another job.
func TestRecoveredJobGoesOn(t *testing.T) {
	w, ran := lostFile(t)
	listUnknown(w, ran)
	if j := w.jobs[1]; j.State != job.Running || !j.Recovered || !w.payloads[1] {
		t.Fatalf("on record is %+v", j)
	}
	w.token++
	w.step(core.Submit{Token: w.token, Submission: job.Submission{
		Owner: job.Owner{UID: 1002, User: "bob"}, Request: job.Request{GPUMilli: 2 * job.WholeGPU},
	}}, -1)
	w.settle()
	if j := w.jobs[2]; j.State != job.Queued {
		t.Fatalf("a job that needs both GPUs is %q", j.State)
	}
	w.units[1].Phase = core.Exited
	w.step(core.Changed{Job: 1}, -1)
	w.settle()
	w.step(w.sample(99), -1)
	w.settle()
	if a, b := w.jobs[1].State, w.jobs[2].State; a != job.Completed || b != job.Running {
		t.Fatalf("after its end it is %s, and the job that waited for its GPU is %s", a, b)
	}
	if err := w.core.Check(); err != nil {
		t.Error(err)
	}
}

// If a recovered job is listed again, nothing changes. Nor does anything change if the daemon dies
// at any point while it handles the listing.
func TestRecoveryIsRepeated(t *testing.T) {
	for death := range 4 {
		w, ran := lostFile(t)
		ev := w.listed().(core.Listed)
		ev.Recovered = []job.Job{ran}
		if !w.step(ev, death) {
			w.revive()
		}
		listUnknown(w, ran)
		listUnknown(w, ran)
		if j := w.jobs[1]; j.State != job.Running || j.Attempt.InvocationID != ran.Attempt.InvocationID {
			t.Errorf("death %d: on record is %+v", death, j)
		}
		if len(w.faults) > 0 {
			t.Errorf("death %d: %v", death, w.faults)
		}
	}
}

// A recovered job has no command, so it can't be requeued.
func TestRecoveredJobDoesNotStartAgain(t *testing.T) {
	w, ran := lostFile(t)
	listUnknown(w, ran)
	w.token++
	w.step(core.Command{Token: w.token, Who: job.Actor{Admin: true}, What: job.Command{Kind: job.CommandRequeue, Job: 1}}, -1)
	if r := w.replies[w.token].Refusal; r == nil || r.Kind() != job.RefusedConflict {
		t.Errorf("refusal %v", r)
	}
	if j := w.jobs[1]; j.State != job.Running {
		t.Errorf("it is %s", j.State)
	}
}

// The unit of an ended job may still exist after the job's record is lost, while another job runs
// on the GPU that the unit names. That other job keeps the GPU.
func TestRecoveredEndedJobHoldsNoReassignedGPU(t *testing.T) {
	w, ran := lostFile(t)
	ended := ran
	ended.ID = 7
	w.units[7] = &unit{Unit: core.Unit{Job: 7, Phase: core.Exited, Invocation: "inv7"}, attempt: 1}
	ended.Attempt = new(*ran.Attempt)
	ended.Attempt.InvocationID = "inv7"
	ev := w.listed().(core.Listed)
	ev.Recovered = []job.Job{ended, ran}
	w.step(ev, -1)
	w.settle()
	if j := w.jobs[7]; !j.State.Terminal() || len(j.Attempt.GPUs) != 0 {
		t.Errorf("the one that ended: %s, %+v", j.State, j.Attempt)
	}
	if j := w.jobs[1]; j.State != job.Running || len(j.Attempt.GPUs) != 1 {
		t.Errorf("the one that runs: %s, %+v", j.State, j.Attempt)
	}
	if len(w.faults) > 0 {
		t.Error(w.faults)
	}
}

// The state file is an older copy. It says that a job waits, but the job's unit belongs to a later
// attempt: the job then counts as running in that attempt. If the unit belongs to a recorded
// attempt, or to another job, the job continues to wait.
func TestUnitOfAWaitingJob(t *testing.T) {
	for name, c := range map[string]struct {
		change func(onRecord, found *job.Job)
		want   job.State
	}{
		"before its first attempt": {func(j, _ *job.Job) { j.Attempt = nil }, job.Running},
		"held by then":             {func(j, _ *job.Job) { j.Attempt, j.Held = nil, "root" }, job.Running},
		"before its second": {func(j, found *job.Job) {
			j.Attempt = new(*j.Attempt)
			j.Attempt.Number, found.Attempt.Number = 1, 2
		}, job.Running},
		"the same attempt": {func(*job.Job, *job.Job) {}, job.Queued},
		"a later attempt":  {func(j, _ *job.Job) { j.Attempt = new(*j.Attempt); j.Attempt.Number = 2 }, job.Queued},
		"of another":       {func(j, _ *job.Job) { j.Attempt, j.Owner.UID = nil, 1002 }, job.Queued},
		"an array": {func(j, _ *job.Job) {
			j.Attempt, j.Tasks = nil, &job.Tasks{}
			j.Request.Array = &job.Array{Ranges: []job.Range{{First: 0, Last: 1, Step: 1}}}
		}, job.Queued},
	} {
		t.Run(name, func(t *testing.T) {
			w, ran := lostFile(t)
			found := ran
			found.Attempt = new(*ran.Attempt)
			found.Request.TimeLimit = job.Span(time.Hour)
			found.Suspension = job.Suspension{SuspendedAt: w.now, SuspendedBy: "alice", Freezes: true}
			w.units[1].Frozen = true
			j := ran
			j.State = job.Queued
			c.change(&j, &found)
			w.units[1].attempt = found.Attempt.Number
			w.jobs[1], w.payloads[1] = j, true
			w.revive()
			ev := w.listed().(core.Listed)
			ev.Recovered = []job.Job{found}
			w.step(ev, -1)
			if got := w.jobs[1]; c.want == job.Running && (got.Request.TimeLimit != found.Request.TimeLimit || got.Suspension != found.Suspension) {
				t.Errorf("its limit is %s, and it is %+v", got.Request.TimeLimit, got.Suspension)
			}
			if got := w.jobs[1]; got.State != c.want || c.want == job.Running && (got.Held != "" || len(got.Attempt.GPUs) != 1 || got.Attempt.Number != found.Attempt.Number) {
				t.Errorf("it is %s: %+v", got.State, got.Attempt)
			}
		})
	}
}

// The state file is an older copy, and the unit of a waiting job is about to start. If that unit then
// vanishes, and the daemon dies once it has made another, the next daemon knows the other unit.
func TestUnitOfAWaitingJobIsMadeAgain(t *testing.T) {
	w, ran := lostFile(t)
	j := ran
	j.State, j.Attempt = job.Queued, nil
	w.jobs[1], w.payloads[1], w.units[1].Phase = j, true, core.Activating
	w.revive()
	listUnknown(w, ran)
	delete(w.units, 1)
	clear(w.runs)
	w.step(w.listed(), -1)
	w.step(w.answer(0), -1) // the inspection finds no unit
	w.pending = nil
	w.step(w.sample(99), -1)
	if _, starts := w.pending[0].(core.Start); !starts {
		t.Fatalf("the pending action is %+v", w.pending)
	}
	w.answer(0)
	w.revive()
	w.step(w.listed(), -1)
	if got := w.jobs[1]; got.State != job.Running || got.Attempt.InvocationID != w.units[1].Invocation {
		t.Errorf("it is %s: %+v", got.State, got.Attempt)
	}
}

// laterJob returns a job that is known only from its unit. It began on the first job's GPU after
// the first job had ended.
func laterJob(w *world, ran job.Job) job.Job {
	ran.ID, ran.Attempt = 2, new(*ran.Attempt)
	ran.Attempt.InvocationID = "inv2"
	w.units[2] = &unit{Unit: core.Unit{Job: 2, Phase: core.Active, Invocation: "inv2"}, attempt: 1, gpus: []int{0}}
	return ran
}

// The state file is an older copy. It says that a job holds a GPU, but the job has ended since.
// Another job now runs on that GPU, and keeps all of it.
func TestOldHolderTakesNoGPUOfARunningJob(t *testing.T) {
	for _, state := range []job.State{job.Starting, job.Running, job.Ending} {
		for _, left := range []bool{false, true} { // whether the unit of the ended job still exists
			w, ran := lostFile(t)
			old := ran
			old.State, old.Attempt = state, new(*ran.Attempt)
			if state == job.Starting {
				old.Attempt.InvocationID = ""
			}
			w.jobs[1], w.payloads[1] = old, true
			delete(w.units, 1)
			if left {
				u := core.Unit{Job: 1, Phase: core.Exited, Invocation: ran.Attempt.InvocationID, Spent: true}
				w.units[1] = &unit{Unit: u, attempt: 1, gpus: []int{0}}
			}
			w.runs["1/1"] = 0
			w.drop(0, func(gpu.Process) bool { return true }) // the running job has not opened its GPU yet
			w.revive()
			listUnknown(w, laterJob(w, ran))
			if j := w.jobs[2]; j.State != job.Running || len(j.Attempt.GPUs) != 1 || j.Request.GPUMilli != job.WholeGPU {
				t.Errorf("%s, left %t: the one that runs: %s, %+v", state, left, j.State, j.Attempt.GPUs)
			}
			w.token++
			w.step(core.Submit{Token: w.token, Submission: job.Submission{
				Owner: job.Owner{UID: 1003, User: "eve"}, Request: job.Request{GPUMilli: 2 * job.WholeGPU},
			}}, -1)
			w.settle()
			w.step(w.sample(99), -1)
			w.settle()
			if j := w.jobs[3]; j.State != job.Queued {
				t.Errorf("%s, left %t: job 3 is %s on %s beside it", state, left, j.State, job.FormatGPUList(j.GPUIndexes()))
			}
			if len(w.faults) > 0 {
				t.Errorf("%s, left %t: %v", state, left, w.faults)
			}
			if err := w.core.Check(); err != nil {
				t.Errorf("%s, left %t: %v", state, left, err)
			}
		}
	}
}

// The state file is an older copy. It says that a job is placed, but the job has no unit. If the
// copy lacks jobs that run now, the placed job is requeued: those jobs may have got its CPUs.
func TestOldPlacementIsNotBelieved(t *testing.T) {
	w, ran := lostFile(t)
	old := ran
	old.State, old.Attempt = job.Starting, new(*ran.Attempt)
	old.Attempt.InvocationID = ""
	old.Attempt.GPUs = slices.Clone(ran.Attempt.GPUs)
	old.Attempt.GPUs[0].Index, old.Attempt.GPUs[0].UUID = 1, w.gpus[1].UUID
	w.jobs[1], w.payloads[1] = old, true
	delete(w.units, 1)
	w.runs["1/1"] = 0
	now := laterJob(w, ran)
	w.revive()
	ev := w.listed().(core.Listed)
	ev.Recovered = []job.Job{now}
	w.step(ev, -1)
	if j := w.jobs[1]; j.State != job.Queued || w.jobs[2].State != job.Running {
		t.Errorf("it is %s, and the other one %s", j.State, w.jobs[2].State)
	}
	w.settle()
	w.step(w.sample(99), -1)
	w.settle()
	if j := w.jobs[1]; j.State != job.Running || j.Attempt.Number != 2 || len(w.faults) > 0 {
		t.Errorf("then it is %s in attempt %d: %v", j.State, j.Attempt.Number, w.faults)
	}
}

// A recovered job whose GPU now belongs to another job is not stopped for using that GPU.
func TestJobWithoutItsGPUIsNotStopped(t *testing.T) {
	w, ran := lostFile(t)
	w.jobs[1], w.payloads[1] = ran, true
	delete(w.units, 1)
	now := laterJob(w, ran)
	w.gpus[0].Processes = []gpu.Process{{PID: 1002, UID: 1001, Start: 5, Age: time.Millisecond, Unit: "gpujob-2.service"}}
	w.revive()
	listUnknown(w, now)
	for i := range 20 {
		w.now = w.now.Add(5 * time.Second)
		w.gpus[0].Processes[0].Age += 5 * time.Second
		w.step(w.sample(uint64(100+i)), -1)
		w.settle()
		if w.units[2] == nil {
			t.Fatalf("job 2 was stopped: %s, %+v", w.jobs[2].State, w.jobs[2].Result)
		}
	}
}

// A job runs in a later attempt than the one in an older copy of the state file, maybe on another
// GPU. The job continues to run there, and ends when the later attempt ends.
func TestOldCopyOfARunningJob(t *testing.T) {
	for _, state := range []job.State{job.Starting, job.Running, job.Ending} {
		for at := range 2 {
			w, ran := lostFile(t)
			old, now := ran, ran
			old.State, old.Attempt, now.Attempt = state, new(*ran.Attempt), new(*ran.Attempt)
			switch state {
			case job.Starting:
				old.Attempt.InvocationID = ""
			case job.Ending:
				old.Attempt.Result = &job.Result{Outcome: job.Failed, ExitCode: 1}
				old.StopOrder = job.StopOrder{Stop: job.StopTime}
			}
			now.Attempt.Number, now.Attempt.InvocationID = 2, "inv9"
			has := ran.Attempt.GPUs[0]
			has.Index, has.UUID = at, w.gpus[at].UUID
			now.Attempt.GPUs = []job.Allocation{has}
			w.jobs[1], w.payloads[1] = old, true
			u := w.units[1]
			u.attempt, u.Invocation, u.gpus = 2, "inv9", []int{at}
			w.gpus[0].Processes, w.gpus[at].Processes = nil, w.gpus[0].Processes
			w.revive()
			listUnknown(w, now)
			listUnknown(w, now)
			j := w.jobs[1]
			if g := j.GPUIndexes(); w.units[1] == nil || j.State != job.Running || j.Attempt.Number != 2 || len(g) != 1 || g[0] != at {
				t.Fatalf("%s, GPU %d: it is %s in attempt %d on %v, unit %v", state, at, j.State, j.Attempt.Number, g, w.units[1])
			}
			for n := range uint64(20) {
				w.now = w.now.Add(5 * time.Second)
				w.step(w.sample(100+n), -1)
				w.settle()
			}
			if err := w.core.Check(); err != nil || len(w.faults) > 0 {
				t.Errorf("%s, GPU %d: %v, %v", state, at, err, w.faults)
			}
			w.units[1].Phase = core.Exited
			w.step(core.Changed{Job: 1}, -1)
			w.settle()
			if j := w.jobs[1]; j.State != job.Completed || j.Attempt.Number != 2 {
				t.Errorf("%s, GPU %d: after its end it is %s: %+v", state, at, j.State, j.Result)
			}
		}
	}
}

// After the copy of the state file was made, two jobs swapped GPUs. Each job keeps the GPU on which
// it runs.
func TestOldCopyOfTwoJobsThatSwappedGPUs(t *testing.T) {
	w, ran := lostFile(t)
	ev := core.Listed{}
	for id := job.ID(1); id <= 2; id++ {
		old, now := ran, ran
		old.ID, now.ID = id, id
		old.Attempt, now.Attempt = new(*ran.Attempt), new(*ran.Attempt)
		place := func(a *job.Attempt, at int) {
			has := a.GPUs[0]
			has.Index, has.UUID = at, w.gpus[at].UUID
			a.GPUs = []job.Allocation{has}
		}
		place(old.Attempt, int(id-1))
		place(now.Attempt, int(2-id))
		old.Attempt.InvocationID = "old" + id.String()
		now.Attempt.Number, now.Attempt.InvocationID = 2, "new"+id.String()
		w.jobs[id], w.payloads[id] = old, true
		w.units[id] = &unit{
			Unit:    core.Unit{Job: id, Phase: core.Active, Invocation: now.Attempt.InvocationID},
			attempt: 2, gpus: []int{int(2 - id)},
		}
		ev.Recovered = append(ev.Recovered, now)
	}
	w.drop(0, func(gpu.Process) bool { return true })
	w.revive()
	all := w.listed().(core.Listed)
	all.Recovered = ev.Recovered
	w.step(all, -1)
	w.settle()
	for id := job.ID(1); id <= 2; id++ {
		j := w.jobs[id]
		if g := j.GPUIndexes(); j.State != job.Running || len(g) != 1 || g[0] != int(2-id) {
			t.Errorf("job %d is %s on %v", id, j.State, g)
		}
	}
	if err := w.core.Check(); err != nil || len(w.faults) > 0 {
		t.Error(err, w.faults)
	}
}

// An older copy of the state file contains an array, but not all tasks that run now. A running task
// does not become a second job, and the array counts its running tasks. Tasks that ended after the
// copy was made wait again.
func TestRecoveredTasksAreOfTheirArray(t *testing.T) {
	for name, over := range map[string]bool{"all run": false, "the first is over": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(0, t.Logf)
			w.step(w.listed(), -1)
			tasks := &job.Array{Ranges: []job.Range{{First: 0, Last: 3, Step: 1}}, Limit: 2}
			w.token++
			w.step(core.Submit{Token: w.token, Submission: job.Submission{
				Owner: job.Owner{UID: 1001, User: "alice"}, Request: job.Request{
					Array: tasks, Hold: true, Notify: []job.Notify{{On: []job.NotifyEvent{job.NotifyStart}, Way: job.NotifyMail}},
				},
			}}, -1)
			old := w.jobs[1]
			old.Held = ""
			w.step(core.Command{Who: job.Actor{Admin: true}, What: job.Command{Kind: job.CommandRelease, Job: 1}}, -1)
			w.settle()
			if over {
				w.units[2].Phase = core.Exited
				w.step(core.Changed{Job: 2}, -1)
				w.settle()
			}
			ev, ran := w.listed().(core.Listed), w.jobs
			for _, u := range ev.Units {
				found := ran[u.Job]
				found.Request.Array = nil
				ev.Recovered = append(ev.Recovered, found)
			}
			w.jobs, w.messages = map[job.ID]job.Job{1: old}, nil
			w.revive()
			w.step(ev, -1)
			w.settle()
			if len(w.messages) != 1 || w.messages[0].Job != 1 {
				t.Errorf("its messages about its start are %+v", w.messages)
			}
			if n := w.jobs[1].Tasks; len(ev.Recovered) != 2 || len(w.units) != 2 || n.Live != 2 || n.Became() != 2 {
				t.Errorf("%d of its tasks ran, %d do, and it counts %+v", len(ev.Recovered), len(w.units), n)
			}
			for len(w.units) > 0 {
				id := slices.Min(slices.Collect(maps.Keys(w.units)))
				w.units[id].Phase = core.Exited
				w.step(core.Changed{Job: id}, -1)
				w.settle()
			}
			jobs := map[int]int{}
			for _, j := range w.jobs {
				if j.Task != nil {
					jobs[j.Task.Index]++
				}
			}
			if want := map[int]int{0: 1, 1: 1, 2: 1, 3: 1}; !maps.Equal(jobs, want) || w.jobs[1].State != job.Completed || len(w.faults) > 0 {
				t.Errorf("so many jobs are tasks: %v, and the array is %s: %v", jobs, w.jobs[1].State, w.faults)
			}
		})
	}
}

// A job that is known only from its unit was moving to a GPU that another job holds by the records. It
// does not get that GPU, and moves to none.
func TestRecoveredJobMovesToAHeldGPU(t *testing.T) {
	w, ran := lostFile(t)
	other := ran
	other.ID, other.Attempt = 2, new(*ran.Attempt)
	has := ran.Attempt.GPUs[0]
	has.Index, has.UUID = 1, w.gpus[1].UUID
	other.Attempt.GPUs = []job.Allocation{has}
	w.jobs[2], w.payloads[2] = other, true
	w.units[2] = &unit{
		Unit:    core.Unit{Job: 2, Phase: core.Active, Invocation: other.Attempt.InvocationID},
		attempt: 1, gpus: []int{1},
	}
	w.drop(0, func(gpu.Process) bool { return true })
	w.revive()
	ran.ParkedOn = ran.Attempt.GPUs
	ran.Attempt = new(*ran.Attempt)
	ran.Attempt.GPUs = []job.Allocation{has}
	ran.Park, ran.SuspendedAt, ran.Endless = job.ParkGives, w.now, true
	ran.ParkProcs = []job.ParkedProcess{{PID: 9, Start: 9}}
	listUnknown(w, ran)
	if j := w.jobs[1]; len(j.Attempt.GPUs) > 0 || j.ParkedOn != nil {
		t.Errorf("it holds %v, and moves from %v", j.GPUIndexes(), j.ParkedOn)
	}
	if err := w.core.Check(); err != nil || len(w.faults) > 0 {
		t.Error(err, w.faults)
	}
}

// By an older copy of the state file, a job runs on GPU 0 or is parked there. It was parked since, or
// moved to GPU 1, and a job that the copy does not have runs on GPU 0 now. Each job has the GPUs that
// it uses. If the record is the later one, because the daemon died before it wrote the other file, the
// record counts.
func TestOldCopyOfAJobThatWasParked(t *testing.T) {
	for name, c := range map[string]struct {
		since func(j *job.Job, at time.Time)
		gpus  []int
	}{
		"parked": {func(j *job.Job, at time.Time) {
			j.Park, j.SuspendedAt, j.Endless = job.IsParked, at, true
			j.ParkProcs = []job.ParkedProcess{{PID: 9, Start: 9}}
		}, nil},
		"moved": {func(j *job.Job, _ time.Time) { j.SuspendedTime = time.Minute }, []int{1}},
	} {
		w, ran := lostFile(t)
		on := func(at int) *job.Attempt {
			a, has := *ran.Attempt, ran.Attempt.GPUs[0]
			has.Index, has.UUID = at, w.gpus[at].UUID
			a.GPUs = []job.Allocation{has}
			return &a
		}
		old, now := ran, ran
		c.since(&now, w.now)
		if c.gpus != nil { // it was parked when the copy was made, and waited for its GPU
			now.Attempt = on(c.gpus[0])
			old.Park, old.ParkWants, old.Owed = job.IsParked, true, true
			old.ParkProcs, old.SuspendedAt, old.Endless = []job.ParkedProcess{{PID: 9, Start: 9}}, w.now, true
		}
		w.jobs[1], w.payloads[1] = old, true
		w.units[1].gpus = c.gpus
		w.units[1].Frozen = now.IsSuspended()
		w.drop(0, func(gpu.Process) bool { return true })
		other := laterJob(w, ran)
		w.revive()
		ev := w.listed().(core.Listed)
		ev.Recovered = []job.Job{other, now}
		w.step(ev, -1)
		w.settle()
		w.step(w.sample(99), -1)
		first, second := w.jobs[1], w.jobs[2]
		if held := job.Indexes(first.HeldGPUs()); !slices.Equal(held, c.gpus) || first.Park != now.Park || first.SuspendedTime != now.SuspendedTime {
			t.Errorf("%s: the job holds %v and is %+v", name, held, first.Parking)
		}
		if held := job.Indexes(second.HeldGPUs()); !slices.Equal(held, []int{0}) {
			t.Errorf("%s: the job on its GPU holds %v", name, held)
		}
		if err := w.core.Check(); err != nil || len(w.faults) > 0 {
			t.Error(name, err, w.faults)
		}
		w.jobs[1] = now
		w.revive()
		listUnknown(w, ran)
		if j := w.jobs[1]; j.Park != now.Park || j.SuspendedTime != now.SuspendedTime || j.Attempt.GPUs[0].Index != now.Attempt.GPUs[0].Index {
			t.Errorf("%s: a later record gave way: %v, %+v", name, j.GPUIndexes(), j.Parking)
		}
	}
}
