package dst

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/units"
)

// judgeEnd holds invariant 5: a job's end is what really happened to its command.
func (w *World) judgeEnd(n *job.Job) {
	j := w.tracked
	var r *run
	if n.Attempt != nil {
		r = j.truth[attemptKey(n.ID, n.Attempt.Number)]
	}
	if n.Result == nil || n.Result.Outcome != n.State {
		w.breach(5, "job %d is %s without a result that says so", n.ID, n.State)
		return
	}
	if r != nil && n.Recovered && n.Attempt.InvocationID != r.invocation {
		return // the file was lost, and what is left is a unit that came late and had nothing to start
	}
	if r != nil && r.dead && n.Attempt.InvocationID != "" && n.Attempt.InvocationID != r.invocation {
		return // it is the end of the unit before the one that came late
	}
	if r != nil && r.gone && r.touched == "state lost" && n.State != job.Completed {
		return // by an older file it was still to end, and nobody can know how it did
	}
	if why := w.untrue(n, r); why != "" {
		w.breach(5, "job %d is recorded as %q, and %s", n.ID, words.Result(n.Result), why)
	}
	if r != nil && r.touched == "restart" && n.Attempt.InvocationID != "" && r.invocation != n.Attempt.InvocationID &&
		n.State != job.Lost && n.State != job.Cancelled && n.Stop == "" {
		w.breach(5, "job %d is recorded as %q, which is how another run of its unit ended (%s, not %s)", n.ID,
			words.Result(n.Result), r.invocation, n.Attempt.InvocationID)
	}
	if r != nil && !r.gone && !w.spent(r) && w.runs[units.Name(int64(r.job))] == r {
		w.breach(5, "job %d is recorded as %s while something of it is in its unit", n.ID, n.State)
	}
	if r != nil && r.alive {
		w.breach(5, "job %d is recorded as %s while its command runs", n.ID, n.State)
	}
	if r != nil && !n.Recovered {
		w.judgeStopped(n, r)
	}
	if r != nil && n.State != job.Completed && r.fine() && !w.overtaken(r) && r.touched == "" && !j.acted[n.ID] &&
		!w.arrayActed(n) && !n.Request.Preemptible {
		w.breach(5, "job %d is recorded as %q, and it exited 0 by itself", n.ID, words.Result(n.Result))
	}
}

// judgeStopped holds invariant 20 for a job that has its end.
func (w *World) judgeStopped(n *job.Job, r *run) {
	wants := map[job.StopCause]job.State{
		job.StopCancel: job.Cancelled, job.StopTime: job.TimedOut, job.StopRequeue: job.Queued,
		job.StopPreempt: job.Queued, job.StopIdle: job.Cancelled, job.StopGPUMem: job.GPUOutOfMemory,
	}
	if want := wants[n.Stop]; want != "" && n.State != want && r.by == "stop" && r.touched == "" {
		w.breach(20, "job %d answered a stop for %q, and is recorded as %q", n.ID, n.Stop, words.Result(n.Result))
	}
	again := n.Stop == job.StopPreempt && !n.StopAt.IsZero() || n.Request.OnTimeout == job.TimeoutRequeue && r.code != 0
	waited := w.disk.jobs[n.ID].State == job.Queued // to run again, until it was cancelled
	if r.warned && again && n.Stop != job.StopCancel && r.by == "" && r.touched == "" && !waited {
		w.breach(20, "job %d left when it was warned, to run again, and is recorded as %q", n.ID, words.Result(n.Result))
	}
}

func (w *World) arrayActed(n *job.Job) bool { return n.Task != nil && w.tracked.acted[n.Task.Array] }

// overtaken reports whether a command ended by itself when its stop was decided
// already: which of the two came first is systemd's to say.
func (w *World) overtaken(r *run) bool {
	at, yes := w.tracked.stops[attemptKey(r.job, r.attempt)]
	return yes && r.ended >= at
}

// fine reports whether the command ended by itself, successfully, before its time
// was up.
func (r *run) fine() bool {
	return !r.alive && r.ended != 0 && r.by == "" && r.code == 0 && r.signal == 0 && !r.oom &&
		r.behaviour.NotStart == 0 && r.behaviour.Launch == ""
}

// untrue says in which way a result is not what happened; "" where it is.
func (w *World) untrue(n *job.Job, r *run) string {
	j, res := w.tracked, n.Result
	switch n.State {
	case job.Completed:
		if r == nil || !r.fine() {
			return "its command did not exit 0 by itself"
		}
	case job.TimedOut:
		if n.Request.TimeLimit == 0 {
			return "it has no time limit"
		}
		at := w.tracked.stops[attemptKey(n.ID, n.Attempt.Number)]
		if r != nil && (r.by == givenUp || r.touched == "swept" || r.touched == "reboot" ||
			r.touched == "vanish" && w.diedAt >= at) {
			return "" // stopped, as far as a daemon knows that was not there when its stop was decided
		}
		if r != nil && r.behaviour.Stopping && w.elapsed-r.began >= n.Request.TimeLimit.Duration()-time.Second {
			return "" // it ended before that, which only its unit could have told
		}
		if r != nil && r.first != 0 && w.elapsed-r.first >= n.Request.TimeLimit.Duration()-time.Second {
			return "" // its limit counts from before somebody began its unit anew
		}
		if n.Recovered {
			return "" // its limit counts from its recovery at the latest
		}
		if r == nil || r.began == 0 {
			return "its command never began"
		}
		if ran := max(r.ended, r.began) - r.began; r.by == "" && !w.overtaken(r) ||
			ran < n.Request.TimeLimit.Duration()-time.Second {
			return "it ran for " + ran.String() + ", ended by " + r.by
		}
	case job.OutOfMemory:
		if r == nil || !r.oom {
			return "it had memory"
		}
	case job.GPUOutOfMemory:
		if n.Stop != job.StopGPUMem {
			return "nobody stopped it for its memory"
		}
	case job.Cancelled:
		if n.Stop == job.StopTrespass {
			if r == nil || !r.trespassed {
				return "it used no GPU but its own"
			}
			return ""
		}
		if res.Detail.IsZero() && n.Stop != job.StopIdle && !j.cancels[n.ID] && (n.Task == nil || !j.cancels[n.Task.Array]) {
			return "nobody asked for that"
		}
	case job.Lost:
		rebooted := n.Attempt.BootID != w.runID() // where its start was unsure
		if r != nil && r.touched == "reboot" && n.Request.MayRequeue() && n.Stop == "" && !n.Recovered {
			return "a reboot took its unit away, after which it wanted to run again"
		}
		if r == nil && j.lost {
			return "" // by an older file it had begun
		}
		if (r == nil || r.touched == "") && !rebooted && !j.swept[attemptKey(n.ID, n.Attempt.Number)] {
			return "nothing took its unit away"
		}
	case job.Failed:
		return w.unfailed(n, r)
	}
	return ""
}

func (w *World) unfailed(n *job.Job, r *run) string {
	res := n.Result
	switch {
	case res.Cause == job.StopGPULost:
		if w.counts[string(gpuLost)]+w.counts[string(gpuMissing)] == 0 {
			return "no GPU was lost"
		}
	case res.Launch != "":
		switch {
		case res.OfMachine() && res.Detail.Text != job.ErrNoPayload.Error() && !n.Recovered:
			return "it could not be started for no fault of its own"
		case r != nil && r.kept && !n.Recovered:
			return "the machine kept every job from starting"
		case r == nil:
			// refused, or never made
		case r.behaviour.Launch == "" && r.behaviour.NotStart == 0 && !r.refused:
			return "its command began"
		}
	case r == nil:
		return "it never began"
	case r.by == "the shutdown" && r.touched == "reboot" && !n.Recovered && n.Stop == "":
		return "the shutdown ended it"
	case r.by == "stop" && n.Stop == "" && r.touched == "" && !n.Recovered:
		return "it was stopped, and nobody wanted that"
	case n.Recovered:
		// its first end may have been on record in the file that was lost
	case r.by == "" && (res.ExitCode != r.code || res.Signal != r.signal):
		return "it ended otherwise"
	}
	return ""
}
