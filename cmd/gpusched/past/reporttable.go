package past

import (
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

type reportColumn = term.Column[api.ReportRow]

// reportColumns returns the columns of a report. On a narrow terminal, less important columns are
// shown only with -o wide.
func reportColumns(by []string, narrow bool) (cols []reportColumn) {
	for i, dim := range by {
		cols = append(cols, reportColumn{
			Title: strings.ToUpper(dim), Key: strings.SplitN(dim, "=", 2)[0], Least: 8,
			Cell: func(r api.ReportRow) string { return keyCell(dim, r.Keys[i]) },
			Raw:  func(r api.ReportRow) string { return r.Keys[i] },
		})
	}
	type row = api.ReportRow
	right := func(title, key string, extra bool, cell func(row) string, raw func(row) string) {
		cols = append(cols, reportColumn{Title: title, Key: key, Extra: extra, Right: true, Cell: cell, Raw: raw})
	}
	percent := func(title, key string, extra bool, of func(row) *float64) {
		right(title, key, extra, func(r row) string { return cli.Dash(cli.PercentOf(of(r))) }, rawFloat(of))
	}
	number := func(title, key string, extra bool, of func(row) float64, cell func(float64) string) {
		right(title, key, extra, func(r row) string { return cell(of(r)) }, func(r row) string { return trimFloat(of(r)) })
	}
	time := func(title, key string, extra bool, of func(row) *float64) {
		right(title, key, extra, func(r row) string { return secondsCell(of(r)) }, rawFloat(of))
	}
	count := func(n float64) string { return strconv.Itoa(int(n)) }
	number("JOBS", "jobs", false, func(r row) float64 { return float64(r.Jobs) }, count)
	number("FAILED", "failures", false, func(r row) float64 { return float64(r.Failures()) }, count)
	number("GPU-HOURS", "gpu_hours", false, func(r row) float64 { return r.GPUHours }, term.Hours)
	percent("GPU%", "gpu_percent", false, func(r row) *float64 { return r.Efficiency.GPU })
	right("GPU-MAX%", "gpu_busy_peak_percent", true, func(r row) string { return percentOrDash(r.GPUBusyPeak) },
		func(r row) string { return intOf(r.GPUBusyPeak) })
	percent("GPU-MEM%", "gpu_mem_percent", true, func(r row) *float64 { return r.Efficiency.GPUMem })
	right("GPU-MEM", "gpu_peak_bytes", true, func(r row) string { return sizeCell(r.GPUPeakBytes) },
		rawSizeOf(func(r row) *int64 { return r.GPUPeakBytes }))
	right("", "gpu_mem_gib_hours", true, nil, rawFloat(func(r row) *float64 { return r.GPUMemGiBHours }))
	number("", "mem_gib_hours", true, func(r row) float64 { return r.MemGiBHours }, term.Hours)
	percent("MEM%", "mem_percent", narrow, func(r row) *float64 { return r.Efficiency.Mem })
	percent("CPU%", "cpu_percent", narrow, func(r row) *float64 { return r.Efficiency.CPU })
	percent("TIME%", "time_percent", true, func(r row) *float64 { return r.Efficiency.Time })
	right("ENERGY", "energy_joules", false, func(r row) string { return energyCell(r.EnergyJoules) },
		rawFloat(func(r row) *float64 { return r.EnergyJoules }))
	time("WAITED", "wait_median_seconds", false, func(r row) *float64 { return timesOf(r.Wait, median) })
	time("WAIT-95%", "wait_p95_seconds", narrow, func(r row) *float64 { return timesOf(r.Wait, p95) })
	time("", "wait_mean_seconds", true, func(r row) *float64 { return timesOf(r.Wait, mean) })
	time("RAN", "run_median_seconds", narrow, func(r row) *float64 { return timesOf(r.Run, median) })
	time("MEAN", "run_mean_seconds", true, func(r row) *float64 { return timesOf(r.Run, mean) })
	for _, s := range job.States() {
		if s.Terminal() {
			ended := func(r row) string { return strconv.Itoa(r.Ended[s]) }
			cols = append(cols, reportColumn{Key: strings.ReplaceAll(string(s), "-", "_"), Cell: ended})
		}
	}
	return cols
}

// legend explains the columns of reports.
var legend = []struct{ title, text string }{
	{"GPU%", "how busy the GPUs were while jobs had them"},
	{"GPU-MAX%", "the highest use of any GPU"},
	{"GPU-MEM%", "peak GPU memory, as a share of what was asked for"},
	{"GPU-MEM", "peak memory of one GPU"},
	{"MEM%", "peak host memory, as a share of what was asked for"},
	{"CPU%", "CPU time, as a share of what the CPUs asked for could give"},
	{"TIME%", "run time, as a share of the time limit"},
	{"ENERGY", "used by the GPUs"},
	{"WAITED", "median wait"},
	{"WAIT-95%", "19 of 20 jobs waited no longer"},
	{"RAN", "median run time"},
	{"MEAN", "mean run time"},
}

// legendOf explains the visible columns.
func legendOf(shown func(title string) bool) string {
	var parts []string
	for _, l := range legend {
		if shown(l.title) {
			parts = append(parts, l.title+": "+l.text)
		}
	}
	return strings.Join(append(parts, "-: not known"), "; ") + "."
}

func mean(t *job.Times) float64   { return t.Mean }
func median(t *job.Times) float64 { return t.Median }
func p95(t *job.Times) float64    { return t.P95 }

func timesOf(t *job.Times, which func(*job.Times) float64) *float64 {
	if t == nil {
		return nil
	}
	v := which(t)
	return &v
}

func percentOrDash(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n) + "%"
}

func intOf(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// keyCell formats a row's key for people. A GPU's key becomes its number and the start of its UUID,
// and a month's key, which is the first day of the month, loses that day.
func keyCell(dim, key string) string {
	index, uuid, ok := strings.Cut(key, " ")
	switch {
	case dim == "month":
		return strings.TrimSuffix(key, "-01")
	case dim != "gpu" || !ok:
		return key
	}
	return index + " (" + term.Cut(uuid, 13) + ")"
}
