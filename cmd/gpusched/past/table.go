package past

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// pastColumns returns the columns for ended jobs. Unknown values are dashes, and empty in csv.
func pastColumns(a *cli.App) []term.Column[api.PastJob] {
	t := a.Out
	return []term.Column[api.PastJob]{
		{Title: "ID", Key: "id", Right: true, Cell: nameOfPast, Raw: func(p api.PastJob) string { return cli.Number(p.ID) }},
		{Key: "task", Cell: func(p api.PastJob) string { return cli.TaskOf(p.Job) }},
		{Key: "attempt", Title: "ATTEMPT", Extra: true, Right: true, Cell: func(p api.PastJob) string { return cli.NumberOrDash(p.Attempt) }, Raw: func(p api.PastJob) string { return strconv.Itoa(p.Attempt) }},
		{Title: "USER", Key: "user", Least: 6, Cell: func(p api.PastJob) string { return p.User }},
		{Title: "NAME", Key: "name", Least: 8, Cell: func(p api.PastJob) string { return p.Name }},
		{Title: "STATE", Key: "state", Cell: func(p api.PastJob) string { return string(p.State) },
			Style: func(p api.PastJob) term.Style { return cli.StateStyle(p.State) }},
		{Title: "EXIT", Key: "exit_code", Right: true, Cell: func(p api.PastJob) string { return cli.ExitCodeOf(p.Job) }},
		{Title: "GPUS", Key: "gpus", Cell: func(p api.PastJob) string { return cli.GPUsOf(p.Job) }, Raw: func(p api.PastJob) string { return job.FormatGPUs(p.GPUMilli) }},
		{Key: "gpu_ids", Cell: func(p api.PastJob) string { return cli.GPUIndexes(p.GPUs) }},
		{Key: "submitted_at", Cell: func(p api.PastJob) string { return cli.Stamp(p.SubmittedAt) }},
		{Key: "started_at", Cell: func(p api.PastJob) string { return cli.Stamp(p.StartedAt) }},
		{Title: "ENDED", Key: "ended_at", Cell: func(p api.PastJob) string { return t.Clock(p.EndedAt) }, Raw: func(p api.PastJob) string { return cli.Stamp(p.EndedAt) }},
		{Title: "RAN", Key: "elapsed_seconds", Right: true, Cell: func(p api.PastJob) string { return secondsCell(p.ElapsedSeconds) }, Raw: rawFloat(func(p api.PastJob) *float64 { return p.ElapsedSeconds })},
		{Title: "WAITED", Key: "wait_seconds", Right: true, Cell: func(p api.PastJob) string { return secondsCell(p.WaitSeconds) }, Raw: rawFloat(func(p api.PastJob) *float64 { return p.WaitSeconds })},
		{Title: "LIMIT", Key: "time_limit_seconds", Extra: true, Right: true, Cell: func(p api.PastJob) string { return cli.LimitOf(p.Job) }, Raw: func(p api.PastJob) string { return cli.Number(cli.WholeSeconds(p.TimeLimit)) }},
		{Title: "GPU%", Key: "gpu_percent", Right: true, Cell: func(p api.PastJob) string { return cli.Dash(cli.PercentOf(p.Efficiency.GPU)) }, Raw: rawFloat(func(p api.PastJob) *float64 { return p.Efficiency.GPU })},
		{Title: "GPU-MEM", Key: "gpu_peak_bytes", Right: true, Cell: func(p api.PastJob) string { return sizeCell(p.GPUPeakBytes) }, Raw: rawSizeOf(func(p api.PastJob) *int64 { return p.GPUPeakBytes })},
		{Key: "gpu_mean_bytes", Cell: rawSizeOf(func(p api.PastJob) *int64 { return p.GPUMeanBytes })},
		{Title: "MEM", Key: "peak_mem_bytes", Extra: true, Right: true, Cell: func(p api.PastJob) string { return cli.SizeOrDash(p.PeakMemBytes) }, Raw: func(p api.PastJob) string { return cli.RawSize(p.PeakMemBytes) }},
		{Title: "MEM%", Key: "mem_percent", Extra: true, Right: true, Cell: func(p api.PastJob) string { return cli.Dash(cli.PercentOf(p.Efficiency.Mem)) }, Raw: rawFloat(func(p api.PastJob) *float64 { return p.Efficiency.Mem })},
		{Key: "gpu_mem_percent", Cell: rawFloat(func(p api.PastJob) *float64 { return p.Efficiency.GPUMem })},
		{Title: "CPU%", Key: "cpu_percent", Extra: true, Right: true, Cell: func(p api.PastJob) string { return cli.Dash(cli.PercentOf(p.Efficiency.CPU)) }, Raw: rawFloat(func(p api.PastJob) *float64 { return p.Efficiency.CPU })},
		{Title: "TIME%", Key: "time_percent", Extra: true, Right: true, Cell: func(p api.PastJob) string { return cli.Dash(cli.PercentOf(p.Efficiency.Time)) }, Raw: rawFloat(func(p api.PastJob) *float64 { return p.Efficiency.Time })},
		{Title: "ENERGY", Key: "energy_joules", Extra: true, Right: true, Cell: func(p api.PastJob) string { return energyCell(p.EnergyJoules) }, Raw: rawFloat(func(p api.PastJob) *float64 { return p.EnergyJoules })},
		{Key: "gpu_seconds", Cell: func(p api.PastJob) string { return trimFloat(p.GPUSeconds) }},
		{Key: "cpu_seconds", Cell: func(p api.PastJob) string { return unlessZero(trimFloat(p.CPUSeconds)) }},
		{Title: "HOW", Key: "result", Extra: true, Cell: func(p api.PastJob) string { return cli.Dash(howCell(p.Job, t.Reader())) }, Raw: func(p api.PastJob) string { return p.Job.Cause(words.Reader{}) }},
	}
}

// howCell says how a job ended. It returns "" if the state and exit code already say that.
func howCell(j api.Job, r words.Reader) string {
	if text := j.Note(r); text != "exit code "+cli.ExitCodeOf(j) {
		return text
	}
	return ""
}

func secondsCell(s *float64) string {
	if s == nil {
		return "-"
	}
	return term.Age(time.Duration(*s * float64(time.Second)))
}

func sizeCell(n *int64) string {
	if n == nil {
		return "-"
	}
	return job.FormatSize(*n)
}

// energyCell converts joules to watt-hours.
func energyCell(joules *float64) string {
	if joules == nil {
		return "-"
	}
	return wattHours(*joules)
}

func wattHours(joules float64) string {
	switch wh := joules / 3600; {
	case wh < 10:
		return fmt.Sprintf("%.1fWh", wh)
	case wh < 1000:
		return fmt.Sprintf("%.0fWh", wh)
	case wh < 100_000:
		return fmt.Sprintf("%.1fkWh", wh/1000)
	default:
		return fmt.Sprintf("%.0fkWh", wh/1000)
	}
}

func rawFloat[T any](of func(T) *float64) func(T) string {
	return func(v T) string {
		if p := of(v); p != nil {
			return trimFloat(*p)
		}
		return ""
	}
}

func rawSizeOf[T any](of func(T) *int64) func(T) string {
	return func(v T) string {
		if p := of(v); p != nil {
			return cli.Number(*p)
		}
		return ""
	}
}

// trimFloat formats a number with at most three decimals.
func trimFloat(v float64) string {
	return strconv.FormatFloat(float64(int64(v*1000+0.5))/1000, 'f', -1, 64)
}

func writePast(a *cli.App, rows []api.PastJob, wide, more, attempts bool) {
	if len(rows) == 0 {
		a.Out.Printf("no ended job matches\n")
		return
	}
	if more {
		a.Out.Printf("the last %d that ended; for more use --last %d (0: all) or --since 7d\n", len(rows), 10*len(rows))
	}
	cols := pastColumns(a)
	narrow := a.Out.Width > 0 && a.Out.Width < 100
	for i := range cols {
		switch cols[i].Key {
		case "attempt":
			cols[i].Extra = !attempts
		case "wait_seconds", "gpu_peak_bytes":
			cols[i].Extra = narrow
		}
	}
	term.WriteTable(a.Out, cols, rows, wide)
}

// unlessZero returns "" for a value of 0, which means that the value is unknown.
func unlessZero(s string) string {
	if s == "0" {
		return ""
	}
	return s
}
