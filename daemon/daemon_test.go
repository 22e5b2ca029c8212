package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/unittest"
)

func TestJobRunsToItsEnd(t *testing.T) {
	r := newRig(t, 2, nil)
	id := r.submit(1, nil)
	r.runs(id)
	r.bus.Exit(units.Name(int64(id)), 7)
	v := r.wait(id)
	if v.State != job.Failed || v.Result.ExitCode != 7 || words.Result(v.Result) != "failed: exit code 7" {
		t.Errorf("got %s, %+v", v.State, v.Result)
	}
	if len(v.Attempt.GPUs) != 1 || v.Attempt.InvocationID == "" {
		t.Errorf("attempt %+v", v.Attempt)
	}
	r.waitUntil("the unit is collected", func() bool { return len(r.bus.Names()) == 0 })
}

// TestNothingPrivateInTheUnit: no property of a unit shows the command or the environment. DESIGN
// explains this under traps.
func TestNothingPrivateInTheUnit(t *testing.T) {
	r := newRig(t, 1, nil)
	id := r.submit(1, nil)
	r.runs(id)
	if text := fmt.Sprintf("%q", r.bus.Properties(units.Name(int64(id)))); strings.Contains(text, "secret") || strings.Contains(text, "/home/alice") {
		t.Errorf("the unit's properties tell private things: %s", text)
	}
}

// TestKilledDaemonLosesNothing: several daemons are killed, and each time a new one continues. Each
// job runs once and ends with its own result.
func TestKilledDaemonLosesNothing(t *testing.T) {
	r := newRig(t, 1, nil)
	running, waiting := r.submit(1, nil), r.submit(1, nil)
	r.runs(running)
	r.restart()
	if got := r.state(waiting); got != job.Queued {
		t.Errorf("the waiting job is %s after a restart", got)
	}
	r.stop()
	r.bus.Exit(units.Name(int64(running)), 3) // no daemon runs meanwhile
	r.start()
	if v := r.wait(running); v.Result.ExitCode != 3 {
		t.Errorf("exit code %d, want 3", v.Result.ExitCode)
	}
	r.runs(waiting)
	r.bus.Exit(units.Name(int64(waiting)), 0)
	r.wait(waiting)
	for _, id := range []job.ID{running, waiting} {
		if n := r.bus.Started(units.Name(int64(id))); n != 1 {
			t.Errorf("job %d was started %d times", id, n)
		}
	}
}

// TestLostAnswers: the D-Bus connection breaks during a start, before or after the unit starts.
func TestLostAnswers(t *testing.T) {
	for name, fault := range map[string]unittest.Fault{"lost answer": unittest.LostAnswer(), "lost call": unittest.LostCall()} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 1, nil)
			r.waitUntil("the units are listed", func() bool { return r.state(r.submit(0, nil)) == job.Running })
			r.bus.FailNext(unittest.OpStart, fault)
			id := r.submit(1, nil)
			r.bus.Disconnect()
			r.bus.Reconnect()
			r.runs(id)
			r.waitUntil("the daemon knows that it runs", func() bool { return r.state(id) == job.Running })
			if n := r.bus.Started(units.Name(int64(id))); n != 1 {
				t.Errorf("started %d times", n)
			}
		})
	}
}

// TestReboot: a running job is queued again after a reboot if its submission asked for that.
func TestReboot(t *testing.T) {
	r := newRig(t, 1, nil)
	id := r.submit(1, nil)
	r.runs(id)
	r.stop()
	r.bus.Reboot()
	r.boot.Add(1)
	r.start()
	r.runs(id)
	r.bus.Exit(units.Name(int64(id)), 0)
	if v := r.wait(id); v.State != job.Completed || v.Attempt.Number != 2 || v.Attempts != nil {
		t.Errorf("%s in attempt %d, and %d nobody asked for", v.State, v.Attempt.Number, len(v.Attempts))
	}
	v, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{id}, Attempts: true})
	if err != nil || len(v.Jobs[0].Attempts) != 2 {
		t.Errorf("%d attempts (%v)", len(v.Jobs[0].Attempts), err)
	}
	for state, want := range map[job.State]int{job.Completed: 1, job.Failed: 0} {
		if v, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{id}, Choice: job.Choice{States: []job.State{state}}}); err != nil || len(v.Jobs) != want {
			t.Errorf("%d jobs by number that are %s (%v)", len(v.Jobs), state, err)
		}
	}
}

// TestFullDisk: while the disk is full, nothing unwritten is acknowledged, and running jobs
// continue. When there is room again, everything works without help.
func TestFullDisk(t *testing.T) {
	r := newRig(t, 1, nil)
	running := r.submit(1, nil)
	r.runs(running)
	r.waitUntil("the start is written", func() bool { return r.state(running) == job.Running })
	r.store.full.Store(true)
	r.bus.Exit(units.Name(int64(running)), 4)
	r.waitUntil("the trouble is noticed", func() bool { return r.d.Health(t.Context())[0].Health == job.Failing })
	var refusal *job.Refusal
	if _, err := r.d.Submit(t.Context(), submission(1), false); !errors.As(err, &refusal) || refusal.Kind() != job.RefusedUnavailable {
		t.Errorf("submit on a full disk: %v", err)
	}
	if len(r.bus.Names()) != 1 {
		t.Errorf("the unit was collected before its result was written")
	}
	r.store.full.Store(false)
	if v := r.wait(running); v.Result.ExitCode != 4 {
		t.Errorf("exit code %d, want 4", v.Result.ExitCode)
	}
}

// TestRequestKey: a repeated request key finds the same job,
// before and after the job's end and after a restart.
func TestRequestKey(t *testing.T) {
	r := newRig(t, 1, func(string, []units.Property) unittest.Behaviour { return unittest.Behaviour{Ends: true} })
	keyed := func(s *job.Submission) { s.Key = "k" }
	id := r.submit(1, keyed)
	r.wait(id)
	if again := r.submit(1, keyed); again != id {
		t.Errorf("the same key gave jobs %d and %d", id, again)
	}
	r.restart()
	if again := r.submit(1, keyed); again != id {
		t.Errorf("after a restart the same key gave jobs %d and %d", id, again)
	}
	other := r.submit(1, func(s *job.Submission) { s.Key = "k"; s.Owner.UID = 1002 })
	if other == id {
		t.Error("another user's key found the job")
	}
}

// TestLeftoversKeepTheGPU: a GPU is not given to another job while processes
// of an ended job are left on it.
func TestLeftoversKeepTheGPU(t *testing.T) {
	r := newRig(t, 1, nil)
	first := r.submit(1, nil)
	r.runs(first)
	second := r.submit(1, nil)
	r.gpus.Put(0, gpu.Process{PID: 4242, Dead: true, UsedBytes: 1 << 30})
	r.bus.Exit(units.Name(int64(first)), 0)
	r.wait(first)
	v, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{second}, Reasons: true})
	if err != nil || v.Jobs[0].State != job.Queued || v.Jobs[0].Reasons[0].Code != job.ReasonGPUCleaning {
		t.Errorf("%v %+v", err, v.Jobs)
	}
	if err := r.gpus.SetGPUs(1); err != nil {
		t.Fatal(err)
	}
	r.runs(second)
}

func TestDryRun(t *testing.T) {
	r := newRig(t, 1, nil)
	r.runs(r.submit(1, nil))
	out, err := r.d.Submit(t.Context(), submission(1), true)
	if err != nil || out.ID != 0 || len(out.Reasons) == 0 {
		t.Fatalf("%v %+v", err, out)
	}
	unit := map[string]string{}
	for _, p := range out.Unit {
		unit[p.Name] = p.Value
	}
	if unit["DevicePolicy"] != "closed" || unit["User"] != "1001" {
		t.Errorf("unit %v", unit)
	}
	if v, err := r.d.Query(t.Context(), job.Query{}); err != nil || len(v.Jobs) != 1 {
		t.Errorf("%v, %d jobs after a dry run", err, len(v.Jobs))
	}
}

func TestCancel(t *testing.T) {
	r := newRig(t, 1, nil)
	running, waiting := r.submit(1, nil), r.submit(1, nil)
	r.runs(running)
	bob, alice := job.Actor{UID: 1002, User: "bob"}, job.Actor{UID: 1001, User: "alice"}
	cancel := func(who job.Actor, id job.ID) error {
		return r.d.Do(t.Context(), who, job.Command{Kind: job.CommandCancel, Job: id})
	}
	kind := func(err error) job.RefusalKind {
		var refusal *job.Refusal
		errors.As(err, &refusal)
		if refusal == nil {
			return ""
		}
		return refusal.Kind()
	}
	if got := kind(cancel(bob, waiting)); got != job.RefusedForbidden {
		t.Errorf("bob cancels alice's waiting job: %q", got)
	}
	for _, id := range []job.ID{waiting, running} {
		if err := cancel(alice, id); err != nil {
			t.Errorf("cancel %d: %v", id, err)
		}
		if v := r.wait(id); v.State != job.Cancelled || v.Result.By != "alice" {
			t.Errorf("job %d is %s by %q", id, v.State, v.Result.By)
		}
	}
	if got := kind(cancel(alice, running)); got != job.RefusedConflict {
		t.Errorf("cancel of an ended job: %q", got)
	}
	if got := kind(cancel(bob, running)); got != job.RefusedForbidden {
		t.Errorf("bob cancels alice's ended job: %q", got)
	}
	if got := kind(cancel(alice, 99)); got != job.RefusedNotFound {
		t.Errorf("cancel of no job: %q", got)
	}
}

// TestJobThatSaysItStops: when a job sends STOPPING=1, systemd calls its unit deactivating.
// The job still runs, keeps its time limit and can be cancelled.
func TestJobThatSaysItStops(t *testing.T) {
	r := newRig(t, 0, func(string, []units.Property) unittest.Behaviour {
		return unittest.Behaviour{Stopping: true, Extends: true}
	})
	limited := r.submit(0, func(s *job.Submission) { s.Request.TimeLimit = job.Span(50 * time.Millisecond) })
	if v := r.wait(limited); v.State != job.TimedOut {
		t.Errorf("with a time limit: %s, %+v", v.State, v.Result)
	}
	id := r.submit(0, nil)
	r.waitUntil("the job runs", func() bool { return r.state(id) == job.Running })
	if err := r.d.Do(t.Context(), job.Actor{UID: 1001, User: "alice"}, job.Command{Kind: job.CommandCancel, Job: id}); err != nil {
		t.Fatal(err)
	}
	if v := r.wait(id); v.State != job.Cancelled {
		t.Errorf("cancelled: %s, %+v", v.State, v.Result)
	}
}

// TestManyJobs: many jobs share few GPUs until the queue is empty, and each job runs once.
func TestManyJobs(t *testing.T) {
	r := newRig(t, 3, func(string, []units.Property) unittest.Behaviour { return unittest.Behaviour{Ends: true} })
	var ids []job.ID
	for range 200 {
		ids = append(ids, r.submit(1, nil))
	}
	for _, id := range ids {
		if v := r.wait(id); v.State != job.Completed || r.bus.Started(units.Name(int64(id))) != 1 {
			t.Fatalf("job %d: %s, started %d times", id, v.State, r.bus.Started(units.Name(int64(id))))
		}
	}
}

// TestWatchdog: the loop notifies systemd's watchdog, and stops doing so when the loop hangs.
func TestWatchdog(t *testing.T) {
	r := newRig(t, 0, nil)
	r.waitUntil("the watchdog is fed", func() bool { return r.ready.Load() > 3 })
}

// TestClientGone: a client that disconnects leaves nothing behind.
func TestClientGone(t *testing.T) {
	r := newRig(t, 1, nil)
	id := r.submit(1, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.d.Wait(ctx, id); !errors.Is(err, context.Canceled) {
		t.Errorf("wait with a client that is gone: %v", err)
	}
	r.runs(id)
}

// TestAwaitTask: a caller that waits for a task of an array gets the task's job, or learns that
// there will be no such job.
func TestAwaitTask(t *testing.T) {
	r := newRig(t, 1, nil)
	array := r.submit(1, func(s *job.Submission) {
		s.Request.Array = &job.Array{Ranges: []job.Range{{First: 0, Last: 3, Step: 1}}, Limit: 1}
	})
	r.runs(array + 1)
	became := make([]chan job.ID, 4)
	for i := range became {
		became[i] = make(chan job.ID, 1)
		go func() {
			id, err := r.d.AwaitTask(t.Context(), array, i)
			if err != nil {
				t.Errorf("wait for task %d: %v", i, err)
			}
			became[i] <- id
		}()
	}
	if id := <-became[0]; id != array+1 {
		t.Errorf("task 0 became job %d", id)
	}
	alice := job.Actor{UID: 1001, User: "alice"}
	if err := r.d.Do(t.Context(), alice, job.Command{Kind: job.CommandCancel, Job: array, Task: new(2)}); err != nil {
		t.Fatal(err)
	}
	if id := <-became[2]; id != 0 {
		t.Errorf("task 2, which was cancelled, became job %d", id)
	}
	r.bus.Exit(units.Name(int64(array+1)), 0)
	if id := <-became[1]; id != array+2 {
		t.Errorf("task 1 became job %d", id)
	}
	if err := r.d.Do(t.Context(), alice, job.Command{Kind: job.CommandCancel, Job: array}); err != nil {
		t.Fatal(err)
	}
	if id := <-became[3]; id != 0 {
		t.Errorf("task 3 of an array that was cancelled became job %d", id)
	}
}

// TestForecastsDoNotStopTheLoop: expected starts are computed while other clients submit jobs.
// Each forecast uses the state at the time of its question, or a later state.
func TestForecastsDoNotStopTheLoop(t *testing.T) {
	r := newRig(t, 2, nil)
	limit := func(s *job.Submission) { s.Request.TimeLimit = job.Span(time.Hour) }
	for range 2 {
		r.runs(r.submit(1, limit))
	}
	limited := submission(1)
	limit(&limited)
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for range 5 {
				s, err := r.d.Submit(t.Context(), limited, false)
				if err != nil || s.Start.At.IsZero() {
					t.Errorf("submit: %v, expected to start at %v", err, s.Start.At)
				}
				v, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{s.ID}, Reasons: true})
				if err != nil || len(v.Jobs) != 1 || v.Jobs[0].Start.At.IsZero() || len(v.Jobs[0].Reasons) == 0 {
					t.Errorf("why: %v, %+v", err, v.Jobs)
				}
			}
			if _, err := r.d.Submit(t.Context(), limited, true); err != nil {
				t.Error(err)
			}
		})
	}
	asking.Wait()
	limited.Brief = true
	if s, err := r.d.Submit(t.Context(), limited, false); err != nil || !s.Start.At.IsZero() || len(s.Reasons) > 0 || s.State != job.Queued {
		t.Errorf("briefly: %v, %+v", err, s)
	}
}
