package core_test

import (
	"cmp"
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
)

// If a command ended while systemd was stopping its unit, the stop counts as the cause, whatever
// the exit status. Otherwise the command ended by itself, even if a stop may have been sent before.
func TestEndAfterAFailedStop(t *testing.T) {
	for name, c := range map[string]struct {
		exit contract.Exit
		want job.State
	}{
		"SIGTERM":         {contract.Exit{Signal: 15, Stopped: true}, job.TimedOut},
		"SIGKILL":         {contract.Exit{Signal: 9, Stopped: true}, job.TimedOut},
		"SIGABRT":         {contract.Exit{Signal: 6, Stopped: true}, job.TimedOut},
		"exit 1":          {contract.Exit{Code: 1, Stopped: true}, job.TimedOut},
		"exit 75":         {contract.Exit{Code: 75, Stopped: true}, job.TimedOut},
		"no memory":       {contract.Exit{Signal: 9, Stopped: true, OOM: true}, job.OutOfMemory},
		"by itself":       {contract.Exit{}, job.Completed},
		"its own exit 1":  {contract.Exit{Code: 1}, job.Failed},
		"its own SIGTERM": {contract.Exit{Signal: 15}, job.Failed},
	} {
		w := runningWorld(t, 1, func(r *job.Request) { r.TimeLimit = job.Span(time.Minute) })
		w.now = w.now.Add(time.Minute)
		w.step(core.Tick{}, -1)
		next[core.Stop](t, w)
		w.step(core.Stopped{Job: 1, Attempt: 1, Before: w.units[1].Unit}, -1)
		w.step(core.Tick{Retry: true}, -1)
		next[core.Stop](t, w)
		w.units[1].Phase, w.units[1].Exit = core.Exited, c.exit
		w.step(core.Stopped{Job: 1, Attempt: 1, Before: w.units[1].Unit}, -1)
		w.settle()
		if j := w.jobs[1]; j.State != c.want {
			t.Errorf("%s: the job is %s: %+v", name, j.State, j.Result)
		}
	}
}

// The result of a completed job says how many processes its command left running. They end together
// with the unit.
func TestProcessesLeftRunningAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		left, code int
		stopped    bool
		want       job.Message
	}{
		"nothing": {},
		"one":     {left: 1, want: job.Say("detail/left-one")},
		"failed":  {left: 1, code: 3},
		"two":     {left: 2, want: job.Say("detail/left-running", 2)},
		"stopped": {left: 2, stopped: true},
	} {
		w := runningWorld(t, 1, func(*job.Request) {})
		w.units[1].left = c.left
		if c.stopped {
			w.step(core.Command{Who: job.Actor{UID: 1001, User: "alice"}, What: job.Command{Kind: job.CommandCancel, Job: 1}}, -1)
		}
		exitNow(w, contract.Exit{Code: c.code, Stopped: c.stopped})
		w.step(core.Changed{Job: 1}, -1)
		w.settle()
		j := w.jobs[1]
		if j.Result == nil || !reflect.DeepEqual(j.Result.Left, c.want) || !reflect.DeepEqual(j.Attempt.Result.Left, c.want) {
			t.Errorf("%s: the result is %+v", name, j.Result)
		}
	}
}

// If the SIGKILL of a cancel reaches the job before the stop does, the job is still cancelled.
func TestKilledBeforeItsStop(t *testing.T) {
	w := runningWorld(t, 1, func(*job.Request) {})
	at := job.Span(0)
	w.step(core.Command{
		Who: job.Actor{UID: 1001, User: "alice"}, What: job.Command{Kind: job.CommandCancel, Job: 1, Grace: &at},
	}, -1)
	next[core.Stop](t, w)
	w.units[1].Phase, w.units[1].Exit = core.Exited, contract.Exit{Signal: 9}
	w.step(core.Stopped{Job: 1, Attempt: 1, Before: w.units[1].Unit}, -1)
	w.settle()
	if j := w.jobs[1]; j.State != job.Cancelled {
		t.Errorf("the job is %s: %+v", j.State, j.Result)
	}
}

// A job ends because of its stop while the daemon restarts. Whatever the exit status, the result is
// the same as without the restart.
func TestEndFoundAfterARestart(t *testing.T) {
	stop := func(kind job.CommandKind) func(*world) {
		return func(w *world) {
			w.step(core.Command{Who: job.Actor{UID: 1001, User: "alice"}, What: job.Command{Kind: kind, Job: 1}}, -1)
		}
	}
	limit := func(w *world) {
		w.now = w.now.Add(time.Minute)
		w.step(core.Tick{}, -1)
	}
	for name, c := range map[string]struct {
		ask  func(*world)
		then job.TimeoutAction
		want job.State
		next int // the number of the job's last attempt
	}{
		"cancel":                 {stop(job.CommandCancel), "", job.Cancelled, 1},
		"requeue":                {stop(job.CommandRequeue), "", job.Running, 2},
		"time limit":             {limit, "", job.TimedOut, 1},
		"time limit and requeue": {limit, job.TimeoutRequeue, job.Running, 2},
		"nobody":                 {func(*world) {}, "", job.Lost, 1},
	} {
		for _, exit := range []contract.Exit{{Code: 1}, {Code: 75}, {Signal: 15}, {Signal: 9}, {Signal: 10}} {
			w := runningWorld(t, 1, func(r *job.Request) { r.TimeLimit, r.OnTimeout = job.Span(time.Minute), c.then })
			c.ask(w)
			exit.Stopped = true
			w.units[1].Phase, w.units[1].Exit = core.Exited, exit
			w.revive()
			w.step(w.listed(), -1)
			w.settle()
			w.step(w.sample(0), -1)
			w.settle()
			if j := w.jobs[1]; j.State != c.want || j.Attempt.Number != c.next {
				t.Errorf("%s, %+v: the job is %s in attempt %d: %+v", name, exit, j.State, j.Attempt.Number, j.Result)
			}
		}
	}
}

// If a job runs out of memory after it was told to stop, while it saves its work, it is cancelled
// or requeued as if it had not run out of memory. If it was stopped at its time limit or by others,
// its result is out of memory.
func TestOutOfMemoryInTheGrace(t *testing.T) {
	for name, c := range map[string]struct {
		ask  func(*world)
		want job.State
	}{
		"cancel":  {sendStop(job.CommandCancel), job.Cancelled},
		"requeue": {sendStop(job.CommandRequeue), job.Running},
		"preempt": {func(w *world) {
			w.now = w.now.Add(45 * time.Minute)
			w.step(w.sample(0), -1)
			w.queue(nil)
		}, job.Queued},
		"time limit": {func(w *world) { w.now = w.now.Add(time.Hour); w.step(core.Tick{}, -1) }, job.OutOfMemory},
		"outside":    {func(*world) {}, job.OutOfMemory},
	} {
		for _, away := range []bool{false, true} {
			w := runningWorld(t, 1, func(r *job.Request) {
				r.Priority.Class, r.TimeLimit, r.MemBytes = job.Scavenger, job.Span(time.Hour), gib
			})
			c.ask(w)
			exitNow(w, contract.Exit{Signal: 9, Stopped: true, OOM: true})
			if away {
				w.revive()
			}
			w.step(w.listed(), -1)
			w.settle()
			w.step(w.sample(0), -1)
			w.settle()
			j := w.jobs[1]
			if j.State != c.want {
				t.Errorf("%s, away %t: the job is %s: %+v", name, away, j.State, j.Result)
			}
			if r := w.ends[0].Result; r.MemBytes != gib {
				t.Errorf("%s, away %t: the attempt does not say that it was out of memory: %+v", name, away, r)
			}
		}
	}
}

// If a job's unit was gone before any stop was sent, the job did not break the rule for which it
// was to be stopped. A stop that somebody asked for remains.
func TestGoneBeforeItsStop(t *testing.T) {
	for name, c := range map[string]struct {
		ask  func(*world)
		want job.State
	}{
		"time limit": {func(w *world) { w.now = w.now.Add(time.Hour); w.step(core.Tick{}, -1) }, job.Lost},
		"cancel":     {sendStop(job.CommandCancel), job.Cancelled},
		"requeue":    {sendStop(job.CommandRequeue), job.Running},
	} {
		w := runningWorld(t, 1, func(r *job.Request) { r.TimeLimit = job.Span(time.Minute) })
		w.sweep(1)
		w.revive()
		w.step(w.listed(), -1) // the inspection that would find the end is under way
		c.ask(w)
		w.settle()
		w.step(w.sample(0), -1)
		w.settle()
		if j := w.jobs[1]; j.State != c.want {
			t.Errorf("%s: the job is %s: %+v", name, j.State, j.Result)
		}
	}
}

// If the unit of a later attempt was gone before the stop was sent, the job did not break the rule
// either, whatever happened to the stop of an earlier attempt.
func TestGoneBeforeItsStopInALaterAttempt(t *testing.T) {
	for _, away := range []bool{false, true} {
		w := runningWorld(t, 1, func(r *job.Request) { r.TimeLimit = job.Span(time.Hour) })
		sendStop(job.CommandRequeue)(w)
		next[core.Stop](t, w)
		if away {
			w.revive()
			w.step(w.listed(), -1)
		} else {
			w.step(core.Stopped{Job: 1, Attempt: 1, Before: w.units[1].Unit}, -1)
			w.step(core.Tick{Retry: true}, -1)
		}
		w.settle()
		w.step(w.sample(0), -1)
		w.settle()
		if j := w.jobs[1]; j.State != job.Running || j.Attempt.Number != 2 {
			t.Fatalf("away %t: the job is %s in attempt %d", away, j.State, j.Attempt.Number)
		}
		w.now = w.now.Add(2 * time.Hour)
		w.sweep(1)
		w.step(core.Tick{}, -1)
		w.settle()
		if j := w.jobs[1]; j.State != job.Lost {
			t.Errorf("away %t: the job is %s: %+v", away, j.State, j.Result)
		}
	}
}

// If another unit with the name of the job's unit is found, the job is lost.
func TestNewUnitOfTheNameIsNotTheJobs(t *testing.T) {
	w := runningWorld(t, 1, nil)
	w.units[1].Invocation = "another"
	w.step(w.listed(), -1)
	w.settle()
	if j := w.jobs[1]; j.State != job.Lost {
		t.Errorf("the job is %s: %+v", j.State, j.Result)
	}
}

// The scheduler learns run times from attempts that ended by themselves or at their limit. If a
// job's work was not lost between its attempts, the run times of all its attempts are added up. The
// scheduler learns nothing from failed launches and from runs of a second.
func TestRunTimesAreLearned(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration // the time between two ends; 0: 10 minutes
		ends  []func(*world)
		want  time.Duration
	}{
		"completed":            {ends: ends(exitWith(contract.Exit{})), want: 10 * time.Minute},
		"failed":               {ends: ends(exitWith(contract.Exit{Code: 1})), want: 10 * time.Minute},
		"at its limit":         {ends: ends(func(w *world) { w.now = w.now.Add(50 * time.Minute); w.step(core.Tick{}, -1) }), want: time.Hour},
		"no memory":            {ends: ends(exitWith(contract.Exit{OOM: true}))},
		"cancelled":            {ends: ends(sendStop(job.CommandCancel))},
		"in two goes":          {ends: ends(sendStop(job.CommandRequeue), exitWith(contract.Exit{})), want: 20 * time.Minute},
		"a launch that failed": {ends: ends(exitWith(contract.Exit{Code: 203, Launch: contract.StepExec}))},
		"a run of a second":    {after: time.Second, ends: ends(exitWith(contract.Exit{}))},
		"a run of two seconds": {after: 2 * time.Second, ends: ends(exitWith(contract.Exit{})), want: 2 * time.Second},
		"GPU lost": {ends: ends(func(w *world) {
			w.gpus[0].Health = gpu.HealthLost
			for range 2 {
				w.step(w.sample(0), -1)
				w.now = w.now.Add(w.policy.LostAfter)
			}
		})},
	} {
		w := runningWorld(t, 1, func(r *job.Request) { r.TimeLimit = job.Span(time.Hour) })
		for _, end := range c.ends {
			w.now = w.now.Add(cmp.Or(c.after, 10*time.Minute))
			end(w)
			w.settle()
		}
		got := map[string]time.Duration{}
		for _, p := range w.learned {
			got[p.Key] = p.Typical
		}
		want := map[string]time.Duration{"1001": c.want, "1001 size 1000": c.want}
		if c.want == 0 {
			want = nil
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

func ends(list ...func(*world)) []func(*world) { return list }

// exitWith ends the command of job 1.
func exitWith(e contract.Exit) func(*world) {
	return func(w *world) {
		w.units[1].Phase, w.units[1].Exit = core.Exited, e
		w.step(core.Changed{Job: 1}, -1)
	}
}

// sendStop sends an administrator's command about job 1.
func sendStop(kind job.CommandKind) func(*world) {
	return func(w *world) {
		c := job.Command{Kind: kind, Job: 1}
		w.step(core.Command{Who: job.Actor{User: "root", Admin: true}, What: c}, -1)
	}
}

// If an attempt is stopped three hours after its expected end, the scheduler learns that such jobs
// run at least that long. If it is stopped earlier, the scheduler learns nothing.
func TestStopsTeachALowerBound(t *testing.T) {
	for name, stop := range map[string]func(*world){
		"cancelled": sendStop(job.CommandCancel),
		"preempted": func(w *world) {
			w.step(w.sample(0), -1)
			w.queue(nil)
		},
	} {
		for _, ran := range []time.Duration{45 * time.Minute, 4 * time.Hour} {
			w := runningWorld(t, 1, func(r *job.Request) { r.Priority.Class = job.Scavenger })
			w.now = w.now.Add(ran)
			stop(w)
			w.settle()
			if u := w.units[1]; u != nil && u.Phase == core.Active {
				t.Fatalf("%s after %s: the job runs on", name, ran)
			}
			p := w.lastLesson()
			if says := p.Typical > ran && p.Runs == 0; says != (ran > time.Hour) {
				t.Errorf("%s after %s, which teaches %+v", name, ran, p)
			}
		}
	}
}
