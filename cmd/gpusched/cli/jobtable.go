package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

func (a *App) JobColumns() []term.Column[api.Job] {
	t := a.Out
	return []term.Column[api.Job]{
		{Title: "ID", Key: "id", Right: true, Least: 6, Cell: func(j api.Job) string { return j.WithTasks() }, Short: func(j api.Job, _ int) string { return j.Called() }, Raw: func(j api.Job) string { return Number(j.ID) }},
		{Title: "JOB", Name: "job", Extra: true, Right: true, Maybe: true, Cell: numberOfTask},
		{Key: "task", Cell: TaskOf},
		{Title: "USER", Key: "user", Least: 6, Cell: func(j api.Job) string { return j.User }},
		{Title: "NAME", Key: "name", Least: 8, Cell: func(j api.Job) string { return j.Name }},
		{Title: "STATE", Key: "state", Least: 12, Cell: StateCell, Short: shortState, Raw: func(j api.Job) string { return string(j.State) },
			Style: func(j api.Job) term.Style { return StateStyle(j.State) }},
		{Title: "GPUS", Key: "gpus", Least: 6, Cell: GPUsOf, Raw: func(j api.Job) string { return job.FormatGPUs(j.GPUMilli) }},
		{Key: "gpu_ids", Cell: func(j api.Job) string { return GPUIndexes(j.GPUs) }},
		{Title: "PRIORITY", Key: "priority", Extra: true, Cell: func(j api.Job) string { return j.Priority.String() }},
		{Title: "MEM", Key: "mem_bytes", Name: "mem", Extra: true, Cell: func(j api.Job) string { return SizeOrDash(j.MemBytes) }, Raw: func(j api.Job) string { return Number(j.MemBytes) }},
		{Title: "GPU-MEM", Key: "gpu_mem_bytes", Name: "gpu_mem", Extra: true, Cell: func(j api.Job) string { return SizeOrDash(j.GPUMemBytes) }, Raw: func(j api.Job) string { return Number(j.GPUMemBytes) }},
		{Title: "GPU-USED", Key: "gpu_used_bytes", Name: "gpu_used", Extra: true, Maybe: true, Cell: gpuUsedOf, Raw: func(j api.Job) string { return RawSize(gpuUsed(j.GPUs)) }},
		{Title: "GPU-PEAK", Key: "gpu_peak_bytes", Name: "gpu_peak", Extra: true, Maybe: true, Cell: func(j api.Job) string { return sizeOrNothing(peakOf(j.GPUs)) }, Raw: func(j api.Job) string { return RawSize(peakOf(j.GPUs)) }},
		{Title: "CPUS", Key: "cpus", Extra: true, Cell: func(j api.Job) string { return NumberOrDash(max(j.CPUs, j.PromisedCPUs)) }, Raw: func(j api.Job) string { return strconv.Itoa(j.CPUs) }},
		{Title: "ELAPSED", Key: "elapsed_seconds", Name: "elapsed", Late: true, Right: true, Maybe: true, Cell: func(j api.Job) string { return RanText(j, t.Now) }, Raw: func(j api.Job) string { return rawElapsed(j, t.Now) }},
		{Title: "LEFT", Key: "left_seconds", Name: "left", Late: true, Right: true, Maybe: true, Drop: 1, Cell: func(j api.Job) string { return leftText(j, t.Now) }, Raw: func(j api.Job) string { return rawLeft(j, t.Now) }},
		{Title: "LIMIT", Key: "time_limit_seconds", Name: "limit", Right: true, Maybe: true, Drop: 3, Cell: limitText, Raw: func(j api.Job) string { return Number(WholeSeconds(j.TimeLimit)) }},
		{Title: "SUBMITTED", Key: "submitted_at", Name: "submitted", Extra: true, Cell: func(j api.Job) string { return t.Clock(j.SubmittedAt) }, Raw: func(j api.Job) string { return Stamp(j.SubmittedAt) }},
		{Title: "START", Key: "expected_start", Name: "start", Maybe: true, Drop: 2, Cell: func(j api.Job) string { return startCell(t, j) }, Raw: func(j api.Job) string { return Stamp(j.ExpectedStart) }},
		{Title: "END", Key: "expected_end", Name: "end", Extra: true, Maybe: true, Cell: func(j api.Job) string { return t.Expected(j.ExpectedEnd) }, Raw: func(j api.Job) string { return Stamp(j.ExpectedEnd) }},
		{Key: "started_at", Name: "started", Cell: func(j api.Job) string { return t.Clock(j.StartedAt) }, Raw: func(j api.Job) string { return Stamp(j.StartedAt) }},
		{Title: "ENDED", Key: "ended_at", Name: "ended", Maybe: true, Drop: 2, Cell: func(j api.Job) string { return t.Clock(j.EndedAt) }, Raw: func(j api.Job) string { return Stamp(j.EndedAt) }},
		{Key: "exit_code", Cell: ExitCodeOf},
		{Title: "PID", Name: pidColumn, Extra: true, Right: true, Maybe: true, Cell: pidOf},
		{Title: "COMMAND", Name: CommandColumn, Extra: true, Maybe: true, Least: 12, Cell: func(j api.Job) string { return j.Command }},
		{Title: "WHY", Key: "why", Least: 12, Cell: func(j api.Job) string { return j.Note(t.Reader()) }, Short: func(j api.Job, width int) string { return shortWhy(j, t.Reader(), width) }, Raw: func(j api.Job) string { return j.Cause(words.Reader{}) }},
		{Key: "tags", Late: true, Cell: func(j api.Job) string { return TagLine(j.Tags) }},
	}
}

func JobColumnNames(a *App) []string { return term.Names(a.JobColumns()) }

func TaskOf(j api.Job) string {
	if j.Task == nil {
		return ""
	}
	return j.Task.Name
}

// numberOfTask returns the job number that a task has, besides its number in the array.
func numberOfTask(j api.Job) string {
	if j.Task == nil || j.ID == 0 {
		return ""
	}
	return Number(j.ID)
}

// StateCell returns the state for a table. For an array that has begun, it returns the progress.
func StateCell(j api.Job) string {
	if text := Progress(j); text != "" && j.Together == "" && !j.State.Terminal() {
		return text
	}
	return j.Several() + j.StateWord()
}

// shortState is like StateCell, but for a narrow column. If the text is too long, shortState leaves
// out its last parts and does not cut a number. For a single job it shows the action that is in
// progress.
func shortState(j api.Job, width int) string {
	text := StateCell(j)
	if j.State.Terminal() {
		return text
	}
	word, doing, ok := strings.Cut(strings.TrimSuffix(text, ")"), " (")
	if ok && j.Array == nil && term.Columns(text) > width {
		return strings.TrimSuffix(word, string(j.State)) + doing
	}
	for _, mark := range []string{" (", ", ", ", ", ", "} {
		if at := strings.LastIndex(text, mark); at > 0 && term.Columns(text) > width {
			text = text[:at]
		}
	}
	return text
}

// Progress describes how far an array has come, if one of its tasks has become a job: "474 queued,
// 4 running, 22 of 500 ended (2 failed)". Waiting tasks come first, since running tasks have rows
// of their own.
func Progress(j api.Job) string {
	a := j.Array
	if a == nil || a.Next+a.Cancelled == 0 {
		return ""
	}
	unbegun, ended := a.Size-a.Next-a.Cancelled, a.Next-a.Live+a.Cancelled
	waits, again := "queued", "waiting again"
	if j.Held() {
		waits = "held"
		if unbegun == 0 {
			again = "held"
		}
	}
	var parts Phrases
	parts.Add(unbegun > 0, "%d %s", unbegun, waits)
	parts.Add(a.Waiting > 0, "%d %s", a.Waiting, again)
	parts.Add(a.Live > a.Waiting, "%d running", a.Live-a.Waiting)
	parts.Add(unbegun == 0 && ended == 0 && a.Waiting == 0, "all started")
	if ended == 0 {
		return strings.Join(parts, ", ")
	}
	var of Phrases
	of.Add(a.Failed > 0, "%d failed", a.Failed)
	of.Add(a.Cancelled > 0, "%d cancelled", a.Cancelled)
	text := fmt.Sprintf("%d of %d ended", ended, a.Size)
	if len(of) > 0 {
		text += " (" + strings.Join(of, ", ") + ")"
	}
	return strings.Join(append(parts, text), ", ")
}

func StateStyle(state job.State) term.Style {
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

// GPUsOf lists the GPUs of a job ("2:0.5" is half of GPU 2). If the job has none yet, it returns
// the requested number in brackets.
func GPUsOf(j api.Job) string {
	switch {
	case len(j.GPUs) == 0 && j.GPUMilli == 0:
		return "-"
	case len(j.GPUs) == 0:
		return "(" + job.FormatGPUs(j.GPUMilli) + ")"
	}
	return Joined(j.GPUs, ",", func(g api.Allocation) string {
		if isPartial(g) {
			return strconv.Itoa(g.Index) + ":" + job.FormatGPUs(g.Milli)
		}
		return strconv.Itoa(g.Index)
	})
}

// isPartial reports whether the job has only a part of this GPU.
func isPartial(g api.Allocation) bool { return g.Milli > 0 && g.Milli < job.WholeGPU }

func GPUIndexes(list []api.Allocation) string {
	return Joined(list, ",", func(g api.Allocation) string { return strconv.Itoa(g.Index) })
}

// ChangedAt returns when the job entered its current state.
func ChangedAt(j api.Job) time.Time {
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

// leastSentence is the smallest column width at which the beginning of a sentence is still useful.
const leastSentence = 30

// shortWhy returns the most important fact about a job for a narrow column: a sentence if it fits.
// Otherwise shortWhy returns, in a few words, the job's reason or the reason that applies to the
// most GPUs.
func shortWhy(j api.Job, read words.Reader, width int) string {
	read.Brief = true
	note := j.Note(read)
	if width >= leastSentence || term.Columns(note) <= width {
		return note
	}
	count, most := map[job.ReasonCode]int{}, job.ReasonCode("")
	for _, r := range j.Reasons {
		if r.GPU == job.NoGPU && r.Code != job.ReasonGPUCount && len(j.Reasons) == 1 {
			return inWords(r.Code)
		}
		if r.GPU == job.NoGPU {
			continue
		}
		if count[r.Code]++; count[r.Code] > count[most] {
			most = r.Code
		}
	}
	if most == "" || j.Result != nil || j.Suspended() || len(j.Warnings) > 0 {
		return note
	}
	if text := inWords(most) + jobsOf(j.Reasons, most); term.Columns(text) <= width {
		return text
	}
	return inWords(most)
}

// inWords turns a reason's code into words: "GPU busy".
func inWords(code job.ReasonCode) string {
	words := strings.Split(string(code), "-")
	for i, word := range words {
		if word == "gpu" || word == "cpus" {
			words[i] = strings.Replace(strings.ToUpper(word), "S", "s", 1)
		}
	}
	return strings.Join(words, " ")
}

// jobsOf lists the jobs that are named in reasons with this code.
func jobsOf(list []api.Reason, code job.ReasonCode) string {
	var ids []string
	for _, r := range list {
		name := Number(r.Job)
		if len(r.Names) > 0 {
			name = r.Names[0]
		}
		if r.Code == code && r.Job != 0 && !slices.Contains(ids, name) {
			ids = append(ids, name)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return " (" + strings.Join(ids, ",") + ")"
}

func ExitCodeOf(j api.Job) string {
	if j.Result == nil {
		return ""
	}
	return strconv.Itoa(j.Result.Code)
}

func LimitOf(j api.Job) string {
	if j.TimeLimit == 0 {
		return "-"
	}
	return term.Age(j.TimeLimit.Duration())
}

func Stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func Number[T ~int64](n T) string { return strconv.FormatInt(int64(n), 10) }

func NumberOrDash(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

func SizeOrDash(n int64) string {
	if n == 0 {
		return "-"
	}
	return job.FormatSize(n)
}

func (a *App) AttemptLine(at api.Attempt) string {
	var parts Phrases
	parts.Add(len(at.GPUs) > 0, "on %s", GPUNames(at.GPUs))
	parts.Add(!at.StartedAt.IsZero(), "started %s", a.Out.Moment(at.StartedAt))
	parts.Add(!at.EndedAt.IsZero(), "ended %s", a.Out.Moment(at.EndedAt))
	peak := peakOf(at.GPUs)
	parts.Add(peak > 0, "%s GPU memory at its peak", job.FormatSize(peak))
	if at.Result != nil {
		parts = append(parts, a.Out.Reader().Shown(at.Result))
	}
	return strings.Join(parts, ", ")
}
