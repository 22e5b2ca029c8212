package dst

import (
	"cmp"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/units"
)

// judgeEnd checks invariant 5: a job's end is what really happened to its command.
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
		return // the state file was lost, and all that is left is a unit that came late and had nothing to start
	}
	if r != nil && r.dead && n.Attempt.InvocationID != "" && n.Attempt.InvocationID != r.invocation {
		return // this end belongs to an earlier unit, not to the unit that came late
	}
	if r != nil && r.gone && r.touched == "state lost" && n.State != job.Completed {
		return // in the older state file the job had not ended, and nobody can know how it ended
	}
	if why := w.firstFinding(n, r); why != "" {
		w.breach(5, "job %d is recorded as %q, and %s", n.ID, words.Result(n.Result), why)
	}
	if r != nil && r.touched == "restart" && n.Attempt.InvocationID != "" && r.invocation != n.Attempt.InvocationID &&
		n.State != job.Lost && n.State != job.Cancelled && n.Stop == "" {
		w.breach(5, "job %d is recorded as %q, which is how another run of its unit ended (%s, not %s)", n.ID,
			words.Result(n.Result), r.invocation, n.Attempt.InvocationID)
	}
	if r != nil && !r.gone && !w.isSpent(r) && w.runs[units.Name(int64(r.job))] == r {
		w.breach(5, "job %d is recorded as %s while something of it is in its unit", n.ID, n.State)
	}
	if r != nil && r.alive {
		w.breach(5, "job %d is recorded as %s while its command runs", n.ID, n.State)
	}
	if r != nil && !n.Recovered {
		w.judgeStopped(n, r)
	}
	if r != nil && n.State != job.Completed && r.endedWell() && !w.wasOvertaken(r) && r.touched == "" && !j.acted[n.ID] &&
		!w.arrayActed(n) && !n.Request.Preemptible {
		w.breach(5, "job %d is recorded as %q, and it exited 0 by itself", n.ID, words.Result(n.Result))
	}
}

// judgeStopped checks invariant 20 for a job that has ended.
func (w *World) judgeStopped(n *job.Job, r *run) {
	wants := map[job.StopCause]job.State{
		job.StopCancel: job.Cancelled, job.StopTime: job.TimedOut, job.StopRequeue: job.Queued,
		job.StopPreempt: job.Queued, job.StopIdle: job.Cancelled, job.StopGPUMem: job.GPUOutOfMemory,
	}
	if want := wants[n.Stop]; want != "" && n.State != want && r.by == "stop" && r.touched == "" {
		w.breach(20, "job %d answered a stop for %q, and is recorded as %q", n.ID, n.Stop, words.Result(n.Result))
	}
	again := n.Stop == job.StopPreempt && !n.StopAt.IsZero() || n.Request.OnTimeout == job.TimeoutRequeue && r.code != 0
	waited := w.disk.jobs[n.ID].State == job.Queued // the job was queued to run again, and then cancelled
	if r.warned && again && n.Stop != job.StopCancel && r.by == "" && r.touched == "" && !waited {
		w.breach(20, "job %d left when it was warned, to run again, and is recorded as %q", n.ID, words.Result(n.Result))
	}
}

func (w *World) arrayActed(n *job.Job) bool { return n.Task != nil && w.tracked.acted[n.Task.Array] }

// wasOvertaken reports whether a command ended by itself after the daemon had decided to stop it.
// Only systemd knows whether the stop or the end came first.
func (w *World) wasOvertaken(r *run) bool {
	at, yes := w.tracked.stops[attemptKey(r.job, r.attempt)]
	return yes && r.ended >= at
}

// endedWell reports whether the command ended by itself, successfully and in time.
func (r *run) endedWell() bool {
	return !r.alive && r.ended != 0 && r.by == "" && r.code == 0 && r.signal == 0 && !r.oom &&
		r.behaviour.NotStart == 0 && r.behaviour.Launch == ""
}

// A finding is a verdict on a result: why the result is wrong, or "" if it is right. The verdict
// counts only if the field applies is true.
type finding struct {
	applies bool
	why     string
}

// firstFinding returns the verdict of the first finding that applies: why a result is wrong, or ""
// if it is right.
func (w *World) firstFinding(n *job.Job, ran *run) string {
	for _, f := range w.findings(n, ran) {
		if f.applies {
			return f.why
		}
	}
	return ""
}

// findings compares a result with the real run of the attempt, which is nil if there was none.
func (w *World) findings(n *job.Job, real *run) []finding {
	j, res, none, r := w.tracked, n.Result, real == nil, cmp.Or(real, &run{})
	switch n.State {
	case job.Completed:
		return []finding{{!r.endedWell(), "its command did not exit 0 by itself"}}
	case job.OutOfMemory:
		return []finding{{!r.oom, "it did not run out of memory"}}
	case job.GPUOutOfMemory:
		return []finding{{n.Stop != job.StopGPUMem, "nobody stopped it for its memory"}}
	case job.Cancelled:
		asked := j.cancels[n.ID] || n.Task != nil && j.cancels[n.Task.Array]
		return []finding{
			{n.Stop == job.StopTrespass && !r.trespassed, "it used no GPU but its own"},
			{n.Stop == job.StopTrespass, ""},
			{res.Detail.IsZero() && n.Stop != job.StopIdle && !asked, "nobody asked for that"},
		}
	case job.Lost:
		rebooted := n.Attempt.BootID != w.runID() // nobody could be sure that the attempt started
		again := n.Request.MayRequeue() && n.Stop == "" && !n.Recovered
		return []finding{
			{r.touched == "reboot" && again, "a reboot took its unit away, after which it wanted to run again"},
			{none && j.lost, ""}, // in the older state file the attempt had begun
			{r.touched == "" && !rebooted && !j.swept[attemptKey(n.ID, n.Attempt.Number)], "nothing took its unit away"},
		}
	case job.TimedOut:
		limit, lasted := n.Request.TimeLimit.Duration()-time.Second, max(r.ended, r.began)-r.began
		missed := r.touched == "vanish" && w.diedAt >= j.stops[attemptKey(n.ID, n.Attempt.Number)]
		return []finding{
			{n.Request.TimeLimit == 0, "it has no time limit"},
			// A daemon that did not see the decision knows only that the attempt was stopped.
			{missed || r.by == givenUp || r.touched == "swept" || r.touched == "reboot", ""},
			{r.behaviour.Stopping && w.Elapsed-r.began >= limit, ""}, // it ended earlier, which only its unit could tell
			{r.first != 0 && w.Elapsed-r.first >= limit, ""},         // its limit counts from its first begin
			{n.Recovered, ""}, // its limit counts from its recovery, or earlier
			{r.began == 0, "its command never began"},
			{r.by == "" && !w.wasOvertaken(r) || lasted < limit, "it ran for " + lasted.String() + ", ended by " + r.by},
		}
	case job.Failed:
		lost := w.Counts[string(gpuLost)]+w.Counts[string(gpuMissing)] > 0
		launch, own := res.Launch != "", n.Stop == "" && !n.Recovered
		ofMachine := res.OfMachine() && res.Detail.Text != job.ErrNoPayload.Error()
		began := r.behaviour.Launch == "" && r.behaviour.NotStart == 0 && !r.refused
		return []finding{
			{res.Cause == job.StopGPULost && !lost, "no GPU was lost"},
			{res.Cause == job.StopGPULost, ""},
			{res.Cause == job.StopPark && r.parked.state == onGPU, "its processes had their memory on their GPUs"},
			{res.Cause == job.StopPark, ""},
			{launch && ofMachine && !n.Recovered, "it could not be started for no fault of its own"},
			{launch && r.kept && !n.Recovered, "the machine kept every job from starting"},
			{launch && !none && began, "its command began"},
			{launch, ""}, // nothing ran: the unit was refused or never created
			{none, "it never began"},
			{own && r.by == "the shutdown" && r.touched == "reboot", "the shutdown ended it"},
			{own && r.by == "stop" && r.touched == "", "it was stopped, and nobody wanted that"},
			{n.Recovered, ""}, // the lost state file may have recorded an earlier end
			{r.by == "" && (res.ExitCode != r.code || res.Signal != r.signal), "it ended in another way"},
		}
	}
	return nil
}
