package sim

import "fmt"

// A Column prints one figure of a value of type T.
type Column[T any] struct {
	Heading string
	Text    func(*T) string
}

// A GroupColumn prints one figure of a Group. Its argument all is the GPU time of all jobs of the
// run.
type GroupColumn struct {
	Heading string
	Text    func(g *Group, all float64) string
}

// GroupColumns returns the columns of a table by user or size. Times are in hours.
func GroupColumns() []GroupColumn {
	hours := func(of func(*Group) float64) func(*Group, float64) string {
		return func(g *Group, _ float64) string { return fmt.Sprintf("%.2f", of(g)/3600) }
	}
	return []GroupColumn{
		{"jobs", func(g *Group, _ float64) string { return fmt.Sprint(g.Jobs) }},
		{"GPU-h", func(g *Group, _ float64) string { return fmt.Sprintf("%.1f", g.GPUTime/3600) }},
		{"of all %", func(g *Group, all float64) string { return fmt.Sprintf("%.1f", 100*g.GPUTime/max(all, 1e-9)) }},
		{"wait h", hours(func(g *Group) float64 { return g.MeanWait })},
		{"mean h", hours(func(g *Group) float64 { return g.MeanCompletion })},
		{"slowdown", func(g *Group, _ float64) string { return fmt.Sprintf("%.1f", g.Slowdown) }},
		{"preempted", func(g *Group, _ float64) string { return fmt.Sprintf("%.0f", g.Preemptions) }},
	}
}

// Columns returns the columns of the main table. Times are in hours.
func Columns() []Column[Metrics] {
	figure := func(format string, of func(*Metrics) float64) func(*Metrics) string {
		return func(m *Metrics) string { return fmt.Sprintf(format, of(m)) }
	}
	hours := func(of func(*Metrics) float64) func(*Metrics) string {
		return figure("%.2f", func(m *Metrics) float64 { return of(m) / 3600 })
	}
	return []Column[Metrics]{
		{"jobs", func(m *Metrics) string { return fmt.Sprint(m.Jobs) }},
		{"mean h", hours(func(m *Metrics) float64 { return m.MeanCompletion })},
		{"p50 h", hours(func(m *Metrics) float64 { return m.P50Completion })},
		{"p99 h", hours(func(m *Metrics) float64 { return m.P99Completion })},
		{"wait h", hours(func(m *Metrics) float64 { return m.MeanWait })},
		{"p99 wait", hours(func(m *Metrics) float64 { return m.P99Wait })},
		{"max wait", hours(func(m *Metrics) float64 { return m.MaxWait })},
		{"full-node wait", hours(func(m *Metrics) float64 { return m.FullNodeWait })},
		{"slowdown", figure("%.1f", func(m *Metrics) float64 { return m.Slowdown })},
		{"makespan/bound", figure("%.3f", func(m *Metrics) float64 { return m.Makespan / max(m.MakespanBound, 1e-9) })},
		{"util %", figure("%.1f", func(m *Metrics) float64 { return 100 * m.Utilisation })},
		{"idle+queued %", figure("%.1f", func(m *Metrics) float64 { return 100 * m.IdleQueued })},
		{"jain", figure("%.3f", func(m *Metrics) float64 { return m.Jain })},
		{"preempted", figure("%.0f", func(m *Metrics) float64 { return m.Preemptions })},
		{"in vain", figure("%.0f", func(m *Metrics) float64 { return m.InVain })},
		{"lost GPU-h", hours(func(m *Metrics) float64 { return m.LostGPU })},
		{"bound h", hours(func(m *Metrics) float64 { return m.CompletionBound })},
	}
}

// StartColumns returns the columns about expected starts. All figures are percentages, except the
// first column and the ratio.
func StartColumns() []Column[StartFigures] {
	percent := func(of func(*StartFigures) float64) func(*StartFigures) string {
		return func(f *StartFigures) string { return fmt.Sprintf("%.0f", 100*of(f)) }
	}
	return []Column[StartFigures]{
		{"asked", func(f *StartFigures) string { return fmt.Sprintf("%.0f", f.Asked) }},
		{"at once %", percent(func(f *StartFigures) float64 { return f.AtOnce })},
		{"nothing %", percent(func(f *StartFigures) float64 { return f.Nothing })},
		{"now %", percent(func(f *StartFigures) float64 { return f.Now })},
		{"told %", percent(func(f *StartFigures) float64 { return f.Told })},
		{"error p50 %", percent(func(f *StartFigures) float64 { return f.ErrorP50 })},
		{"p90 %", percent(func(f *StartFigures) float64 { return f.ErrorP90 })},
		{"real/told", func(f *StartFigures) string { return fmt.Sprintf("%.2f", f.RatioP50) }},
		{"range held %", percent(func(f *StartFigures) float64 { return f.Held })},
		{"after 1 h: p50 %", percent(func(f *StartFigures) float64 { return f.LaterP50 })},
		{"p90 %", percent(func(f *StartFigures) float64 { return f.LaterP90 })},
	}
}
