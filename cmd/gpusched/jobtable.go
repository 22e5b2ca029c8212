package main

import (
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
		{title: "ID", key: "id", right: true, cell: func(j api.Job) string { return strconv.FormatInt(j.ID, 10) }},
		{title: "USER", key: "user", least: 6, cell: func(j api.Job) string { return j.User }},
		{title: "NAME", key: "name", least: 8, cell: func(j api.Job) string { return j.Name }},
		{title: "STATE", key: "state", cell: func(j api.Job) string { return stateWord(j) }, raw: func(j api.Job) string { return j.State },
			style: func(j api.Job) style { return stateStyle(j.State) }},
		{title: "GPUS", key: "gpus", cell: gpusOf, raw: func(j api.Job) string { return job.FormatGPUs(j.GPUMilli) }},
		{key: "gpu_ids", cell: func(j api.Job) string { return gpuIndexes(j.GPUs) }},
		{title: "PRIORITY", key: "priority", extra: true, cell: func(j api.Job) string { return j.Priority }},
		{title: "MEM", key: "mem_bytes", extra: true, cell: func(j api.Job) string { return sizeOrDash(j.MemBytes) }, raw: func(j api.Job) string { return number(j.MemBytes) }},
		{title: "GPU-MEM", key: "gpu_mem_bytes", extra: true, cell: func(j api.Job) string { return sizeOrDash(j.GPUMemBytes) }, raw: func(j api.Job) string { return number(j.GPUMemBytes) }},
		{title: "CPUS", key: "cpus", extra: true, cell: func(j api.Job) string { return numberOrDash(j.CPUs) }, raw: func(j api.Job) string { return strconv.Itoa(j.CPUs) }},
		{title: "LIMIT", key: "time_limit_seconds", extra: true, cell: limitOf, raw: func(j api.Job) string { return number(j.TimeLimitSeconds) }},
		{title: "SINCE", cell: func(j api.Job) string { return t.when(changedAt(j)) }},
		{title: "SUBMITTED", key: "submitted_at", extra: true, cell: func(j api.Job) string { return t.when(j.SubmittedAt) }, raw: func(j api.Job) string { return stamp(j.SubmittedAt) }},
		{key: "started_at", cell: func(j api.Job) string { return stamp(j.StartedAt) }},
		{key: "ended_at", cell: func(j api.Job) string { return stamp(j.EndedAt) }},
		{key: "exit_code", cell: exitCodeOf},
		{title: "WHY", key: "why", least: 16, cell: whyOf},
	}
}

// jobsCSV is a table of jobs for machines.
func (a *app) jobsCSV(jobs []api.Job) func(io.Writer) error {
	return func(w io.Writer) error { return writeCSV(w, a.jobColumns(), jobs) }
}

// stateWord is the state, with what is being done about it.
func stateWord(j api.Job) string {
	if j.StopRequested != "" && !job.State(j.State).Terminal() {
		return j.State + " (ending)"
	}
	return j.State
}

func stateStyle(state string) style {
	switch job.State(state) {
	case job.Running:
		return green
	case job.Queued, job.Starting, job.Ending:
		return yellow
	case job.Completed:
		return plain
	case job.Cancelled:
		return dim
	}
	return red
}

// gpusOf is which GPUs a job has, in brackets how many it asks.
func gpusOf(j api.Job) string {
	if len(j.GPUs) > 0 {
		return gpuIndexes(j.GPUs)
	}
	if j.GPUMilli == 0 {
		return "-"
	}
	return "(" + job.FormatGPUs(j.GPUMilli) + ")"
}

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
	case state == job.Queued:
		return j.SubmittedAt
	case state.Terminal():
		return j.EndedAt
	case !j.StartedAt.IsZero():
		return j.StartedAt
	}
	return j.PlacedAt
}

// whyOf is why a job waits, or how it ended.
func whyOf(j api.Job) string {
	if j.Result != nil {
		return j.Result.Sentence
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
	if j.TimeLimitSeconds == 0 {
		return "-"
	}
	return age(time.Duration(j.TimeLimitSeconds) * time.Second)
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
