package core_test

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// exitNow makes the command of job 1 exit by itself now.
func exitNow(w *world, e contract.Exit) {
	w.units[1].Phase, w.units[1].Exit, w.units[1].ended = core.Exited, e, w.now.Add(-w.set)
}

// A job that exits after the warning of its preemption has made room, whatever its exit status,
// even if it exits while no daemon runs. A job that ended before the warning keeps its own result.
func TestExitAfterPreemptionWarning(t *testing.T) {
	for _, exit := range []contract.Exit{{}, {Code: 1}, {Code: 75}, {Signal: 10}, {Signal: 15}, {Signal: 9, OOM: true}} {
		for _, away := range []bool{false, true} {
			w := runningWorld(t, 1, func(r *job.Request) {
				r.Priority.Class, r.WarnSignal, r.WarnBefore = job.Scavenger, 10, job.Span(time.Minute)
			})
			w.now = w.now.Add(time.Hour)
			w.step(w.sample(0), -1)
			w.queue(nil)
			w.settle()
			w.now = w.now.Add(5 * time.Second)
			exitNow(w, exit)
			if away {
				w.now = w.now.Add(time.Hour)
				w.revive()
				w.step(w.listed(), -1)
			} else {
				w.step(core.Changed{Job: 1}, -1)
			}
			w.settle()
			w.step(w.sample(0), -1)
			w.settle()
			if j := w.jobs[1]; j.State != job.Queued || j.Attempt.Result.Cause != job.StopPreempt || j.Attempt.Result.For != 2 {
				t.Errorf("%+v, daemon away %t: the job is %s: %+v", exit, away, j.State, j.Attempt.Result)
			}
			if j := w.jobs[2]; j.State != job.Running {
				t.Errorf("%+v: the job for which it made room is %s", exit, j.State)
			}
		}
	}
	w := runningWorld(t, 1, func(r *job.Request) {
		r.Priority.Class, r.WarnSignal, r.WarnBefore = job.Scavenger, 10, job.Span(time.Minute)
	})
	w.now = w.now.Add(time.Hour)
	exitNow(w, contract.Exit{})
	w.now = w.now.Add(time.Second)
	w.step(w.sample(0), -1)
	w.queue(nil) // a job that needs the GPU comes before the core knows about the end
	w.step(core.Changed{Job: 1}, -1)
	w.settle()
	if j := w.jobs[1]; j.State != job.Completed {
		t.Errorf("the job that had ended is %s: %+v", j.State, j.Attempt.Result)
	}
}

// A job exits after the warning of its time limit. With exit status 0 it is done. With any other
// status it is requeued if it asked for a requeue at its limit.
func TestExitAfterLimitWarning(t *testing.T) {
	for _, c := range []struct {
		then job.TimeoutAction
		exit contract.Exit
		want job.State
		next int
	}{
		{job.TimeoutRequeue, contract.Exit{}, job.Completed, 1},
		{job.TimeoutRequeue, contract.Exit{Code: 1}, job.Running, 2},
		{job.TimeoutRequeue, contract.Exit{Signal: 10}, job.Running, 2},
		{job.TimeoutRequeue, contract.Exit{Signal: 9, OOM: true}, job.OutOfMemory, 1},
		{"", contract.Exit{}, job.Completed, 1},
		{"", contract.Exit{Code: 1}, job.Failed, 1},
	} {
		for _, warned := range []bool{true, false} {
			w := runningWorld(t, 1, func(r *job.Request) {
				r.TimeLimit, r.OnTimeout = job.Span(time.Hour), c.then
				r.WarnSignal, r.WarnBefore = 10, job.Span(time.Minute)
			})
			want, next := c.want, c.next
			w.now = w.now.Add(59 * time.Minute)
			if warned {
				w.step(core.Tick{}, -1)
				w.settle()
				w.now = w.now.Add(time.Second)
			} else if want == job.Running {
				want, next = job.Failed, 1
			}
			exitNow(w, c.exit)
			w.revive()
			w.step(w.listed(), -1)
			w.settle()
			w.step(w.sample(0), -1)
			w.settle()
			if j := w.jobs[1]; j.State != want || j.Attempt.Number != next {
				t.Errorf("%+v, warned %t: the job is %s in attempt %d: %+v", c, warned, j.State, j.Attempt.Number, j.Result)
			}
		}
	}
}

// A job ends by itself while its warning can't be sent. It keeps its own result, and does not run
// again. If any try to send the warning may have succeeded, the job counts as warned.
func TestEndsBeforeItsWarningIsSent(t *testing.T) {
	for _, preempts := range []bool{false, true} {
		for _, c := range []struct {
			tries  []core.Signalled
			answer bool // the last try is answered before the job ends
			own    bool
		}{
			{[]core.Signalled{{Unsent: true}}, true, true},
			{[]core.Signalled{{Unsent: true}, {Unsent: true}, {Unsent: true}}, true, true},
			{[]core.Signalled{{Unsent: true}, {Unsent: true}}, false, false},
			{[]core.Signalled{{}}, true, false},
			{[]core.Signalled{{}, {Unsent: true}}, true, false},
			{[]core.Signalled{{Unsent: true}, {}, {Unsent: true}}, true, false},
			{[]core.Signalled{{Unsent: true}, {OK: true}}, true, false},
		} {
			w := runningWorld(t, 1, func(r *job.Request) {
				r.WarnSignal, r.WarnBefore = 10, job.Span(time.Minute)
				r.TimeLimit, r.OnTimeout = job.Span(3*time.Hour), job.TimeoutRequeue
				if preempts {
					r.Priority.Class = job.Scavenger
				}
			})
			if w.now = w.now.Add(time.Hour); preempts {
				w.step(w.sample(0), -1)
				w.queue(nil)
			} else {
				w.now = w.now.Add(119 * time.Minute)
				w.step(core.Tick{}, -1)
			}
			for i, e := range c.tries {
				if i > 0 {
					w.now = w.core.Deadline()
					w.step(core.Tick{}, -1)
				}
				a := next[core.Signal](t, w)
				w.now = w.now.Add(100 * time.Millisecond)
				if e.Job, e.Attempt = a.Job, a.Attempt; i < len(c.tries)-1 || c.answer {
					w.step(e, -1)
				}
			}
			w.now = w.now.Add(500 * time.Millisecond)
			exitNow(w, contract.Exit{Code: 3})
			w.step(core.Changed{Job: 1}, -1)
			w.settle()
			w.step(w.sample(0), -1)
			w.settle()
			if j := w.jobs[1]; (j.State == job.Failed) != c.own {
				t.Errorf("preempts %t, %+v: the job is %s: %+v", preempts, c, j.State, j.Attempt.Result)
			}
		}
	}
}

// If systemd does not accept a warning, the daemon sends the warning again until systemd accepts
// it, even after a restart. It does not send an accepted warning again. The notice of a preempted
// job begins when the warning is accepted.
func TestWarningIsSentUntilItArrives(t *testing.T) {
	limit := func(r *job.Request) { r.TimeLimit = job.Span(time.Hour) }
	scavenger := func(r *job.Request) { r.Priority.Class = job.Scavenger }
	for name, preempts := range map[string]bool{"before the limit": false, "to make room": true} {
		w := runningWorld(t, 1, func(r *job.Request) {
			r.WarnSignal, r.WarnBefore = 10, job.Span(time.Minute)
			if limit(r); preempts {
				scavenger(r)
			}
		})
		w.now = w.now.Add(59 * time.Minute)
		if preempts {
			w.now = w.now.Add(-10 * time.Minute)
			w.step(w.sample(0), -1)
			w.queue(nil)
		} else {
			w.step(core.Tick{}, -1)
		}
		for range 3 {
			a := next[core.Signal](t, w)
			if w.jobs[1].Warned {
				t.Errorf("%s: on record as warned before that is known", name)
			}
			w.step(core.Signalled{Job: a.Job, Attempt: a.Attempt}, -1)
			w.now = w.core.Deadline()
			w.step(core.Tick{}, -1)
		}
		w.revive()
		w.step(w.listed(), -1)
		w.step(core.Tick{}, -1)
		a := next[core.Signal](t, w)
		w.now = w.now.Add(3 * time.Second)
		w.step(core.Signalled{Job: a.Job, Attempt: a.Attempt, OK: true}, -1)
		if j := w.jobs[1]; !j.Warned || preempts && j.StopAt.Sub(w.now) < 59*time.Second {
			t.Errorf("%s: warned %t, to be stopped in %s", name, j.Warned, j.StopAt.Sub(w.now))
		}
		w.pending = nil
		w.revive()
		w.step(w.listed(), -1)
		w.now = w.now.Add(5 * time.Second)
		w.step(core.Tick{Retry: true}, -1)
		for _, a := range w.pending {
			if _, again := a.(core.Signal); again {
				t.Errorf("%s: warned again", name)
			}
		}
	}
}

// While systemd does not answer, a job that is to be warned is not stopped: a stop would not reach
// systemd either. Once systemd answers, a preempted job still gets its whole notice, but a job past
// its time limit is stopped. A job that can't be warned, or that somebody cancels, is stopped.
func TestNoStopBeforeTheWarning(t *testing.T) {
	for _, preempts := range []bool{false, true} {
		for _, away := range []time.Duration{30 * time.Second, 90 * time.Second, 5 * time.Minute} {
			for _, then := range []string{"arrives", "arrives after a restart", "is refused", "cancel"} {
				w := runningWorld(t, 1, func(r *job.Request) {
					r.WarnSignal, r.WarnBefore, r.TimeLimit = 10, job.Span(time.Minute), job.Span(3*time.Hour)
					if preempts {
						r.Priority.Class = job.Scavenger
					}
				})
				if w.now = w.now.Add(time.Hour); preempts {
					w.step(w.sample(0), -1)
					w.queue(nil)
				} else {
					w.now = w.now.Add(119 * time.Minute)
					w.step(core.Tick{}, -1)
				}
				warned := w.now
				a := next[core.Signal](t, w)
				for w.now.Before(warned.Add(away)) {
					w.step(core.Signalled{Job: a.Job, Attempt: a.Attempt}, -1)
					if next := w.core.Deadline(); !next.After(w.now) {
						t.Fatalf("at %s the next tick is at %s", w.now, next)
					}
					w.now = w.now.Add(time.Second)
					w.step(core.Tick{Retry: true}, -1)
					a = next[core.Signal](t, w)
				}
				if then == "arrives after a restart" {
					w.revive()
					w.step(w.listed(), -1)
					w.step(core.Tick{}, -1)
					a = next[core.Signal](t, w)
				}
				if j := w.jobs[1]; j.State != job.Running {
					t.Errorf("preempts %t, %s: without a warning the job is %s", preempts, away, j.State)
				}
				due := w.now.After(warned.Add(time.Minute)) // the job's notice or time limit is over
				switch then {
				case "is refused":
					w.step(core.Signalled{Job: a.Job, Attempt: a.Attempt, Refused: true}, -1)
				case "cancel":
					w.step(core.Command{Who: alice, What: job.Command{Kind: job.CommandCancel, Job: 1}}, -1)
					due = true
				default:
					w.step(core.Signalled{Job: a.Job, Attempt: a.Attempt, OK: true}, -1)
					w.step(core.Tick{}, -1)
					if j := w.jobs[1]; preempts {
						due = false
						if !j.Warned || j.StopAt.Sub(w.now) < 59*time.Second {
							t.Errorf("%s, %s: warned %t, to be stopped in %s", away, then, j.Warned, j.StopAt.Sub(w.now))
						}
					}
				}
				if j := w.jobs[1]; (j.State == job.Ending) != due {
					t.Errorf("preempts %t, %s, the warning %s: the job is %s", preempts, away, then, j.State)
				}
			}
		}
	}
}
