package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// jobColumns are the columns of a table of jobs.
func (a *app) jobColumns() []term.Column[api.Job] {
	t := a.out
	return []term.Column[api.Job]{
		{Title: "ID", Key: "id", Right: true, Cell: idOf, Raw: func(j api.Job) string { return number(j.ID) }},
		{Title: "JOB", Extra: true, Right: true, Maybe: true, Cell: numberOfTask},
		{Key: "task", Cell: taskOf},
		{Title: "USER", Key: "user", Least: 6, Cell: func(j api.Job) string { return j.User }},
		{Title: "NAME", Key: "name", Least: 8, Cell: func(j api.Job) string { return j.Name }},
		{Title: "STATE", Key: "state", Least: 20, Cell: func(j api.Job) string { return stateWord(j) }, Raw: func(j api.Job) string { return string(j.State) },
			Style: func(j api.Job) term.Style { return stateStyle(j.State) }},
		{Title: "GPUS", Key: "gpus", Cell: gpusOf, Raw: func(j api.Job) string { return job.FormatGPUs(j.GPUMilli) }},
		{Key: "gpu_ids", Cell: func(j api.Job) string { return gpuIndexes(j.GPUs) }},
		{Title: "PRIORITY", Key: "priority", Extra: true, Cell: func(j api.Job) string { return j.Priority.String() }},
		{Title: "MEM", Key: "mem_bytes", Extra: true, Cell: func(j api.Job) string { return sizeOrDash(j.MemBytes) }, Raw: func(j api.Job) string { return number(j.MemBytes) }},
		{Title: "GPU-MEM", Key: "gpu_mem_bytes", Extra: true, Cell: func(j api.Job) string { return sizeOrDash(j.GPUMemBytes) }, Raw: func(j api.Job) string { return number(j.GPUMemBytes) }},
		{Title: "GPU-USED", Key: "gpu_used_bytes", Extra: true, Maybe: true, Cell: gpuUsedOf, Raw: func(j api.Job) string { return rawSize(gpuUsed(j.GPUs)) }},
		{Title: "GPU-PEAK", Key: "gpu_peak_bytes", Extra: true, Maybe: true, Cell: func(j api.Job) string { return sizeOrNothing(peakOf(j.GPUs)) }, Raw: func(j api.Job) string { return rawSize(peakOf(j.GPUs)) }},
		{Title: "CPUS", Key: "cpus", Extra: true, Cell: func(j api.Job) string { return numberOrDash(max(j.CPUs, j.PromisedCPUs)) }, Raw: func(j api.Job) string { return strconv.Itoa(j.CPUs) }},
		{Title: "LIMIT", Key: "time_limit_seconds", Extra: true, Cell: limitOf, Raw: func(j api.Job) string { return number(wholeSeconds(j.TimeLimit)) }},
		{Title: "SINCE", Cell: func(j api.Job) string { return t.Clock(changedAt(j)) }},
		{Title: "SUBMITTED", Key: "submitted_at", Extra: true, Cell: func(j api.Job) string { return t.Clock(j.SubmittedAt) }, Raw: func(j api.Job) string { return stamp(j.SubmittedAt) }},
		{Title: "START", Key: "expected_start", Maybe: true, Cell: func(j api.Job) string { return startCell(t, j) }, Raw: func(j api.Job) string { return stamp(j.ExpectedStart) }},
		{Title: "END", Key: "expected_end", Extra: true, Maybe: true, Cell: func(j api.Job) string { return t.Expected(j.ExpectedEnd) }, Raw: func(j api.Job) string { return stamp(j.ExpectedEnd) }},
		{Key: "started_at", Cell: func(j api.Job) string { return stamp(j.StartedAt) }},
		{Key: "ended_at", Cell: func(j api.Job) string { return stamp(j.EndedAt) }},
		{Key: "exit_code", Cell: exitCodeOf},
		{Title: "WHY", Key: "why", Least: 16, Cell: func(j api.Job) string { return t.Local(whyOf(j)) }, Raw: whyOf},
	}
}

// idOf is how the job is named in a table: an array with its tasks, as far as
// these are short.
func idOf(j api.Job) string {
	if j.Array == nil {
		return nameOfJob(j)
	}
	return fmt.Sprintf("%d_[%s]", j.ID, term.Cut(j.Array.Spec, 12))
}

func taskOf(j api.Job) string {
	if j.Task == nil {
		return ""
	}
	return j.Task.Name
}

// numberOfTask is the number that a task has as a job of its own.
func numberOfTask(j api.Job) string {
	if j.Task == nil || j.ID == 0 {
		return ""
	}
	return number(j.ID)
}

// stateWord is the state, with what is being done about it.
func stateWord(j api.Job) string {
	word := string(j.State)
	switch live := !j.State.Terminal(); {
	case live && (j.StopRequested == job.StopRequeue || j.StopRequested == job.StopPreempt):
		return word + " (back to queue)"
	case live && j.StopRequested != "":
		return word + " (ending)"
	case live && isSuspended(j):
		return word + " (suspended)"
	case live && len(j.Warnings) > 0:
		return word + warningWords(j.Warnings)
	case live && isHeld(j):
		return word + " (held)" + progress(j.Array)
	case live:
		return word + progress(j.Array)
	}
	return word
}

// progress says how far an array is, after its state: " 160/200, 4 run".
func progress(a *api.Array) string {
	if a == nil {
		return ""
	}
	text := ""
	if left := a.Size - a.Next - a.Cancelled; left > 0 {
		text = fmt.Sprintf(" %d/%d", left, a.Size)
	}
	if a.Live > 0 {
		text += fmt.Sprintf(", %d run", a.Live)
	}
	if a.Failed > 0 {
		text += fmt.Sprintf(", %d failed", a.Failed)
	}
	if a.Cancelled > 0 {
		text += fmt.Sprintf(", %d cancelled", a.Cancelled)
	}
	return text
}

func stateStyle(state job.State) term.Style {
	switch state {
	case job.Running:
		return term.Green
	case job.Queued, job.Spawned, job.Starting, job.Ending:
		return term.Yellow
	case job.Completed:
		return term.Plain
	case job.Cancelled:
		return term.Dim
	}
	return term.Red
}

// gpusOf is which GPUs a job has, in brackets how many it asks. 2:0.5 is half
// of GPU 2.
func gpusOf(j api.Job) string {
	switch {
	case len(j.GPUs) == 0 && j.GPUMilli == 0:
		return "-"
	case len(j.GPUs) == 0:
		return "(" + job.FormatGPUs(j.GPUMilli) + ")"
	}
	return joined(j.GPUs, ",", func(g api.Allocation) string {
		if partial(g) {
			return strconv.Itoa(g.Index) + ":" + job.FormatGPUs(g.Milli)
		}
		return strconv.Itoa(g.Index)
	})
}

// partial reports whether the job has a part of the GPU only.
func partial(g api.Allocation) bool { return g.Milli > 0 && g.Milli < job.WholeGPU }

func gpuIndexes(list []api.Allocation) string {
	return joined(list, ",", func(g api.Allocation) string { return strconv.Itoa(g.Index) })
}

// changedAt is since when the job is in its state.
func changedAt(j api.Job) time.Time {
	switch state := j.State; {
	case state == job.Queued && !j.QueuedAt.IsZero():
		return j.QueuedAt
	case state == job.Queued || state == job.Spawned:
		return j.SubmittedAt
	case state.Terminal():
		return j.EndedAt
	case !j.StartedAt.IsZero():
		return j.StartedAt
	}
	return j.PlacedAt
}

// whyOf is why a job waits, how it ended, or what is wrong with one that runs.
func whyOf(j api.Job) string {
	if j.Result != nil {
		return j.Result.Sentence
	}
	if isSuspended(j) {
		return fmt.Sprintf("suspended by %s since %s", j.SuspendedBy, job.FormatMoment(j.SuspendedAt))
	}
	if len(j.Warnings) > 0 {
		return j.Warnings[0].Sentence
	}
	return j.Why
}

func exitCodeOf(j api.Job) string {
	if j.Result == nil {
		return ""
	}
	return strconv.Itoa(j.Result.Code)
}

func limitOf(j api.Job) string {
	if j.TimeLimit == 0 {
		return "-"
	}
	return term.Age(j.TimeLimit.Duration())
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func number[T ~int64](n T) string { return strconv.FormatInt(int64(n), 10) }

func numberOrDash(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

func sizeOrDash(n int64) string {
	if n == 0 {
		return "-"
	}
	return job.FormatSize(n)
}
