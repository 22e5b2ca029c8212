package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// jobColumns are the columns of a table of jobs.
func (a *app) jobColumns() []column[api.Job] {
	t := a.out
	return []column[api.Job]{
		{title: "ID", key: "id", right: true, cell: idOf, raw: func(j api.Job) string { return number(j.ID) }},
		{title: "JOB", extra: true, right: true, maybe: true, cell: numberOfTask},
		{key: "task", cell: taskOf},
		{title: "USER", key: "user", least: 6, cell: func(j api.Job) string { return j.User }},
		{title: "NAME", key: "name", least: 8, cell: func(j api.Job) string { return j.Name }},
		{title: "STATE", key: "state", least: 20, cell: func(j api.Job) string { return stateWord(j) }, raw: func(j api.Job) string { return j.State },
			style: func(j api.Job) style { return stateStyle(j.State) }},
		{title: "GPUS", key: "gpus", cell: gpusOf, raw: func(j api.Job) string { return job.FormatGPUs(j.GPUMilli) }},
		{key: "gpu_ids", cell: func(j api.Job) string { return gpuIndexes(j.GPUs) }},
		{title: "PRIORITY", key: "priority", extra: true, cell: func(j api.Job) string { return j.Priority.String() }},
		{title: "MEM", key: "mem_bytes", extra: true, cell: func(j api.Job) string { return sizeOrDash(j.MemBytes) }, raw: func(j api.Job) string { return number(j.MemBytes) }},
		{title: "GPU-MEM", key: "gpu_mem_bytes", extra: true, cell: func(j api.Job) string { return sizeOrDash(j.GPUMemBytes) }, raw: func(j api.Job) string { return number(j.GPUMemBytes) }},
		{title: "GPU-USED", key: "gpu_used_bytes", extra: true, maybe: true, cell: gpuUsedOf, raw: func(j api.Job) string { return rawSize(gpuUsed(j.GPUs)) }},
		{title: "GPU-PEAK", key: "gpu_peak_bytes", extra: true, maybe: true, cell: func(j api.Job) string { return sizeOrNothing(peakOf(j.GPUs)) }, raw: func(j api.Job) string { return rawSize(peakOf(j.GPUs)) }},
		{title: "CPUS", key: "cpus", extra: true, cell: func(j api.Job) string { return numberOrDash(j.CPUs) }, raw: func(j api.Job) string { return strconv.Itoa(j.CPUs) }},
		{title: "LIMIT", key: "time_limit_seconds", extra: true, cell: limitOf, raw: func(j api.Job) string { return number(wholeSeconds(j.TimeLimit)) }},
		{title: "SINCE", cell: func(j api.Job) string { return t.when(changedAt(j)) }},
		{title: "SUBMITTED", key: "submitted_at", extra: true, cell: func(j api.Job) string { return t.when(j.SubmittedAt) }, raw: func(j api.Job) string { return stamp(j.SubmittedAt) }},
		{title: "START", key: "expected_start", maybe: true, cell: func(j api.Job) string { return t.expected(j.ExpectedStart) }, raw: func(j api.Job) string { return stamp(j.ExpectedStart) }},
		{title: "END", key: "expected_end", extra: true, maybe: true, cell: func(j api.Job) string { return t.expected(j.ExpectedEnd) }, raw: func(j api.Job) string { return stamp(j.ExpectedEnd) }},
		{key: "started_at", cell: func(j api.Job) string { return stamp(j.StartedAt) }},
		{key: "ended_at", cell: func(j api.Job) string { return stamp(j.EndedAt) }},
		{key: "exit_code", cell: exitCodeOf},
		{title: "WHY", key: "why", least: 16, cell: func(j api.Job) string { return t.local(whyOf(j)) }, raw: whyOf},
	}
}

// jobsCSV is a table of jobs for machines.
func (a *app) jobsCSV(jobs []api.Job) func(io.Writer) error {
	return func(w io.Writer) error { return writeCSV(w, a.jobColumns(), jobs) }
}

// idOf is how the job is named in a table: an array with its tasks, as far as
// these are short.
func idOf(j api.Job) string {
	if j.Array == nil {
		return nameOfJob(j)
	}
	return fmt.Sprintf("%d_[%s]", j.ID, cut(j.Array.Spec, 12))
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
	switch live := !job.State(j.State).Terminal(); {
	case live && (j.StopRequested == string(job.StopRequeue) || j.StopRequested == string(job.StopPreempt)):
		return j.State + " (back to queue)"
	case live && j.StopRequested != "":
		return j.State + " (ending)"
	case live && len(j.Warnings) > 0:
		return j.State + warned(j.Warnings)
	case live && j.HeldBy != "":
		return j.State + " (held)" + progress(j.Array)
	case live:
		return j.State + progress(j.Array)
	}
	return j.State
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

func stateStyle(state string) style {
	switch job.State(state) {
	case job.Running:
		return green
	case job.Queued, job.Spawned, job.Starting, job.Ending:
		return yellow
	case job.Completed:
		return plain
	case job.Cancelled:
		return dim
	}
	return red
}

// gpusOf is which GPUs a job has, in brackets how many it asks. 2:0.5 is half
// of GPU 2.
func gpusOf(j api.Job) string {
	if len(j.GPUs) > 0 {
		parts := make([]string, len(j.GPUs))
		for i, g := range j.GPUs {
			if parts[i] = strconv.Itoa(g.Index); partial(g) {
				parts[i] += ":" + job.FormatGPUs(g.Milli)
			}
		}
		return strings.Join(parts, ",")
	}
	if j.GPUMilli == 0 {
		return "-"
	}
	return "(" + job.FormatGPUs(j.GPUMilli) + ")"
}

// partial reports whether the job has a part of the GPU only.
func partial(g api.GPURef) bool { return g.Milli > 0 && g.Milli < job.WholeGPU }

func gpuIndexes(list []api.GPURef) string {
	parts := make([]string, len(list))
	for i, g := range list {
		parts[i] = strconv.Itoa(g.Index)
	}
	return strings.Join(parts, ",")
}

// changedAt is since when the job is in its state.
func changedAt(j api.Job) time.Time {
	switch state := job.State(j.State); {
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
	return age(j.TimeLimit.Duration())
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

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
