package look

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// These functions return the lines of 'gpusched show' that describe a job's life. If there is
// nothing to say, a line is empty.

// lifeOptions lists the job's options about its end, retries and order, except default values.
func lifeOptions(j api.Job) (parts cli.Phrases) {
	parts.Add(j.OnTimeout == job.TimeoutRequeue, "back to the queue at its time limit")
	parts.Add(j.WarnSignal > 0, "%s %s before its time limit", job.AimedSignal(j.WarnSignal, j.WarnsMain()), j.WarnBefore)
	parts.Add(j.SignalTo == job.SignalMain, "SIGTERM to its main process alone")
	parts.Add(j.Preemptible, "preemptible")
	parts.Add(j.NoPark, "parked only on demand")
	parts.Add(j.Retries > 0, "up to %s", cli.Count(j.Retries, "retry"))
	parts.Add(j.Retries > 0 && j.Backoff > 0, "the first after %s", j.Backoff)
	parts.Add(j.MaxFailures > 0, "at most %s", cli.Count(j.MaxFailures, "failed task"))
	parts.Add(j.Objective == job.Makespan && j.Batch == "", "longest and widest task first")
	parts.Add(j.Objective == job.Makespan && j.Batch != "", "longest and widest of batch %q first", j.Batch)
	parts.Add(j.Lane != "", "lane %s", j.Lane)
	return parts
}

func taskLine(j api.Job) string {
	switch {
	case j.Task == nil:
		return ""
	case j.ID == 0 && j.State == job.Cancelled:
		return fmt.Sprintf("%d of array %d, cancelled before it started", j.Task.Index, j.Task.Array)
	case j.ID == 0:
		return fmt.Sprintf("%d of array %d, not started", j.Task.Index, j.Task.Array)
	}
	return fmt.Sprintf("%d of array %d, as job %d", j.Task.Index, j.Task.Array, j.ID)
}

func arrayLine(j api.Job) string {
	a := j.Array
	if a == nil {
		return ""
	}
	over := j.State.Terminal()
	left := a.Size - a.Next - a.Cancelled
	again := ""
	if a.Waiting > 0 {
		again = fmt.Sprintf("%d waiting again, ", a.Waiting)
	}
	text := fmt.Sprintf("%s: %s; %d waiting, %s%d running, %d ended", a.Spec, cli.Tasks(a), left, again, a.Live-a.Waiting, a.Next-a.Live)
	if over {
		text = fmt.Sprintf("%s: %s; %d have run", a.Spec, cli.Tasks(a), a.Next)
	}
	if a.Failed > 0 {
		text += fmt.Sprintf(", %d of these did not complete", a.Failed)
	}
	if over && left > 0 {
		text += fmt.Sprintf("; %d never started", left)
	}
	if a.Cancelled > 0 {
		text += fmt.Sprintf("; %d cancelled before the start", a.Cancelled)
	}
	return text
}

func expectedLine(a *cli.App, j api.Job) string {
	switch {
	case !j.ExpectedStart.IsZero() && j.Parked != nil:
		return "to have its GPUs again " + cli.StartText(a.Out, j)
	case !j.ExpectedStart.IsZero():
		return "to start " + cli.StartText(a.Out, j)
	case j.StartUnknown:
		return cli.UnknownStart(j)
	case !j.ExpectedEnd.IsZero():
		return "to end " + a.Out.About(j.ExpectedEnd)
	}
	return ""
}

// startedLine says when a job started. If the job has ended, it also says how long the job ran.
func startedLine(a *cli.App, j api.Job) string {
	if j.StartedAt.IsZero() || j.EndedAt.IsZero() {
		return a.Out.Moment(j.StartedAt)
	}
	return a.Out.Moment(j.StartedAt) + ", ran " + cli.RanText(j, a.Out.Now)
}

// beginLine says why the job does not start before a certain time.
func beginLine(a *cli.App, j api.Job) string {
	var parts cli.Phrases
	retried := !j.NotBefore.IsZero() && j.State == job.Queued
	parts.Add(!j.Begin.IsZero(), "not before %s", a.Out.Clock(j.Begin))
	parts.Add(retried, "after a failure not before %s", a.Out.Clock(j.NotBefore))
	parts.Add(j.HeldBy != "", "held by %s", j.HeldBy)
	return strings.Join(parts, ", ")
}

// suspendedLine says that a job is suspended, and how long it has been suspended in total.
func suspendedLine(a *cli.App, j api.Job) string {
	var parts cli.Phrases
	parts.Add(j.Suspended() && j.SuspendedBy == "", "since %s", a.Out.Moment(j.SuspendedAt))
	parts.Add(j.Suspended() && j.SuspendedBy != "", "by %s since %s", j.SuspendedBy, a.Out.Moment(j.SuspendedAt))
	parts.Add(!j.SuspendedUntil.IsZero(), "until %s at the latest", a.Out.Clock(j.SuspendedUntil))
	parts.Add(j.Suspended(), "its time limit stands still")
	parts.Add(j.SuspendedTime > 0, "for %s earlier, which does not count as run time", term.Age(j.SuspendedTime.Duration()))
	return strings.Join(parts, ", ")
}

// parkedLine says for whom a job is parked and how it goes on, or why it can't be parked.
func parkedLine(j api.Job) string {
	var parts cli.Phrases
	p := j.Parked
	parts.Add(p == nil && j.Unparkable != "", "it can't be: %s", j.Unparkable)
	parts.Add(j.ParkedTime > 0, "for %s earlier", term.Age(j.ParkedTime.Duration()))
	if p != nil {
		gpus := cli.GPUNames(p.GPUs)
		parts.Add(p.For != 0, "for job %s", p.For)
		parts.Add(true, "%s of host memory for its GPU memory", job.FormatSize(p.HostMemBytes))
		parts.Add(p.State == job.ParkTakes, "the driver copies it now")
		parts.Add(p.State == job.ParkGives, "the driver copies it back to %s now", gpus)
		parts.Add(p.State == job.IsParked && p.Wants, "waits for %s", gpus)
		parts.Add(p.State == job.IsParked && !p.Wants, "%s", returnText(j))
	}
	return strings.Join(parts, ", ")
}

// returnText says when a parked job that does not want its GPUs gets them back.
func returnText(j api.Job) string {
	text := fmt.Sprintf("returns to %s after 'gpusched unpark %s'", cli.GPUNames(j.Parked.GPUs), cli.NameOfJob(j))
	if j.Parked.Awake {
		text += " or when it works again"
	}
	return text
}

// queuedLine says how often and when the job returned to the queue.
func queuedLine(a *cli.App, j api.Job) string {
	var parts cli.Phrases
	parts.Add(!j.QueuedAt.IsZero() && !j.QueuedAt.Equal(j.SubmittedAt), "%s", a.Out.Moment(j.QueuedAt))
	parts.Add(j.Requeues > 0, "back in the queue %s", times(j.Requeues))
	parts.Add(j.Failures > 0, "failed %s", times(j.Failures))
	return strings.Join(parts, ", ")
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// promiseLine lists the GPU memory that is reserved for the job.
func promiseLine(list []api.Allocation) string {
	var parts cli.Phrases
	for _, g := range list {
		parts.Add(g.PromiseBytes > 0, "%s kept on GPU %d", job.FormatSize(g.PromiseBytes), g.Index)
	}
	return strings.Join(parts, ", ")
}

// hintsLine lists the variables that tell frameworks the job's part of a GPU's memory.
func hintsLine(j api.Job) string {
	var env []string
	contained := false
	if p := j.Private; p != nil {
		env, contained = p.Env, p.Container.Engine != ""
	}
	refs := job.Each(j.GPUs, func(g api.Allocation) contract.GPU { return g.GPU })
	list := contract.Hints(refs, contained, func(name string) bool {
		return slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	})
	if len(list) > 0 && (j.Private == nil || j.State.Terminal()) {
		list[len(list)-1] += " (unless its own environment sets them)"
	}
	return strings.Join(list, ", ")
}
