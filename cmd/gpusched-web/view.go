package main

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// pageView holds the contents of all sections: plain text, which the templates escape, and HTML
// elements with times.
type pageView struct {
	Asked   bool // the scheduler has answered at least once
	At      time.Time
	Trouble string // why the state is not newer

	Version  string
	Health   string
	Well     bool
	Checks   []job.Check
	Counts   []countView
	Promised []string
	Drain    template.HTML
	Problem  string // what is wrong with the GPUs

	GPUs     []gpuView
	Running  []jobView
	Waiting  []jobView
	Ended    []jobView
	MoreWait int // number of waiting jobs that are not listed
	AllWait  int // number of waiting jobs; each task of an array counts
	AllRun   int
	Plan     *planView
}

type countView struct {
	N    int
	What string
}

// A gpuView is a row of the GPU table. Unknown percentages are -1.
type gpuView struct {
	Index              int
	Name, State, Class string
	Detail             template.HTML
	Util               int
	Mem                int // percentage in use
	MemText            string
	Temp, Power        string
	Jobs               []shareView
	Foreign            string
}

// A shareView is a job on a GPU.
type shareView struct{ Called, Part string }

// A jobView is a row of a job table.
type jobView struct {
	Called, WithTasks  string
	User, Name         string
	State, Class       string
	GPUs, Asks         string
	Priority           string
	Limit              string
	Since              time.Time // when the wait or the run began, or when the job ended
	From, By, Expected time.Time // expected start or end
	Unknown            bool
	Ran                string
	Why                template.HTML
}

func viewOf(s state) pageView {
	v := pageView{
		Asked: !s.at.IsZero(), At: s.at, Version: s.status.Version, Health: string(s.status.Health),
		Well: s.status.Health == job.Healthy, Counts: countsOf(s.status.Counts), Promised: promisedOf(&s.status.Host),
		Checks: s.checks,
	}
	if s.err != nil {
		v.Trouble = s.err.Error()
	}
	if s.list.Drain != nil {
		v.Drain = sentence(s.list.Drain.Text)
	}
	v.Problem, v.MoreWait = s.gpus.ProblemDetail, s.list.Omitted
	v.GPUs = job.Each(s.gpus.GPUs, gpuViewOf)
	rows := api.ByState(s.list.Jobs, requestedEnded)
	for i := range rows {
		j := &rows[i]
		switch {
		case j.State.Terminal() && len(v.Ended) == shownEnded:
		case j.State.Terminal():
			v.Ended = append(v.Ended, jobViewOf(j))
		case j.State == job.Queued:
			v.Waiting = append(v.Waiting, jobViewOf(j))
			v.AllWait += max(1, j.Alike)
		default:
			v.Running = append(v.Running, jobViewOf(j))
			if j.State != job.Spawned { // arrays do not count, only their tasks
				v.AllRun += max(1, j.Alike)
			}
		}
	}
	v.AllWait, v.Plan = v.AllWait+v.MoreWait, planOf(s.plan)
	return v
}

func countsOf(counts map[job.State]int) (list []countView) {
	for _, state := range []job.State{job.Running, job.Starting, job.Ending, job.Queued, job.Spawned} {
		if n := counts[state]; n > 0 {
			list = append(list, countView{n, string(state)})
		}
	}
	return list
}

// promisedOf lists how much memory and how many CPUs are allocated to jobs.
func promisedOf(h *job.HostView) (list []string) {
	if h.MemBytes > 0 {
		list = append(list, "memory "+job.FormatSize(h.PromisedMem)+" of "+job.FormatSize(h.MemBytes))
	}
	if h.CPUs > 0 {
		list = append(list, fmt.Sprintf("CPUs %d of %d", h.PromisedCPUs, h.CPUs))
	}
	return list
}

func gpuViewOf(g api.GPU) gpuView {
	v := gpuView{
		Index: g.Index, Name: g.Name, State: string(g.State), Class: gpuClass(g), Detail: sentence(g.Detail),
		Util: g.UtilPercent, Mem: -1, MemText: "the host's",
	}
	if g.Paused {
		v.Detail = cmp.Or(escape(g.PausedReason), v.Detail)
	}
	if g.MemTotalBytes > 0 {
		v.Mem = int(g.MemUsedBytes * 100 / g.MemTotalBytes)
		v.MemText = job.FormatSize(int64(g.MemUsedBytes)) + " of " + job.FormatSize(int64(g.MemTotalBytes))
	}
	if g.TempC >= 0 {
		v.Temp = fmt.Sprintf("%d °C", g.TempC)
	}
	if g.PowerMilliW >= 0 {
		v.Power = fmt.Sprintf("%d W", g.PowerMilliW/1000)
	}
	for _, s := range g.Shares {
		share := shareView{Called: cmp.Or(s.Called, s.Job.String())}
		if s.Milli < job.WholeGPU {
			share.Part = job.FormatGPUs(s.Milli)
		}
		v.Jobs = append(v.Jobs, share)
	}
	if f := g.Foreign(); f.Count > 0 {
		v.Foreign = strings.Join(f.Users, ", ")
		if f.Bytes > 0 {
			v.Foreign = job.FormatSize(f.Bytes) + " of " + v.Foreign
		}
	}
	return v
}

// gpuClass returns the CSS class of a GPU's state.
func gpuClass(g api.GPU) string {
	switch {
	case g.State == job.GPULost || g.State == job.GPUSuspect || g.State == job.GPUSick:
		return "bad"
	case g.Paused, g.State == job.GPUPaused, g.State == job.GPUDraining, g.State == job.GPUDrained:
		return "odd"
	case g.State == job.GPUFree:
		return "free"
	}
	return "busy"
}

func jobViewOf(j *api.Job) jobView {
	v := jobView{
		Called: j.Called(), WithTasks: j.WithTasks(), User: j.User, Name: j.Name,
		State: j.Several() + j.StateWord(), Class: jobClass(j), GPUs: gpusOf(j), Asks: asksOf(j),
		Priority: j.Priority.String(), Why: sentence(j.Note),
	}
	if j.TimeLimit > 0 {
		v.Limit = term.Age(j.TimeLimit.Duration())
	}
	switch {
	case j.State.Terminal():
		v.Since = j.EndedAt
		if !j.StartedAt.IsZero() {
			v.Ran = term.Age(j.Elapsed(j.EndedAt))
		}
	case j.State == job.Queued:
		v.Since = cmp.Or(j.QueuedAt, j.SubmittedAt)
		v.Expected, v.From, v.By = j.ExpectedStart, j.ExpectedStartFrom, j.ExpectedStartBy
		v.Unknown = j.StartUnknown
	default:
		v.Since, v.Expected = cmp.Or(j.StartedAt, j.PlacedAt), j.ExpectedEnd
	}
	return v
}

// jobClass returns the CSS class of a job's state.
func jobClass(j *api.Job) string {
	switch {
	case j.State == job.Running:
		return "run"
	case j.State == job.Completed:
		return "done"
	case j.State == job.Cancelled:
		return "off"
	case j.State.Terminal():
		return "bad"
	}
	return "wait"
}

// gpusOf lists the GPUs of a job.
func gpusOf(j *api.Job) string {
	var list []string
	for _, g := range j.GPUs {
		text := fmt.Sprint(g.Index)
		if g.Milli > 0 && g.Milli < job.WholeGPU {
			text += ":" + job.FormatGPUs(g.Milli)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// asksOf describes the GPUs that a job requests, and the progress of an array.
func asksOf(j *api.Job) string {
	text := "no GPU"
	if j.GPUMilli > 0 {
		text = job.FormatGPUs(j.GPUMilli) + " GPU"
		if j.GPUMilli > job.WholeGPU {
			text += "s"
		}
	}
	if j.GPUMemBytes > 0 {
		text += " with " + job.FormatSize(j.GPUMemBytes)
	}
	if a := j.Array; a != nil {
		text += fmt.Sprintf(", %d of %d tasks have ended", a.Next-a.Live+a.Cancelled, a.Size)
	}
	return text
}
