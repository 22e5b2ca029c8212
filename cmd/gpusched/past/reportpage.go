package past

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/report/chart"
)

// pageStyle is the style of the whole page. The page loads nothing and runs no script.
const pageStyle = `:root{color-scheme:light dark;
--ink:#1a1c1e;--dim:#5c6370;--paper:#fff;--line:#d8dce2;--bar:#2f6fb0}
@media(prefers-color-scheme:dark){:root{
--ink:#e6e8eb;--dim:#9aa3af;--paper:#16181b;--line:#363b42;--bar:#6aa9e6}}
body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);
margin:0 auto;max-width:90rem;padding:1.5rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .5rem}p{margin:.25rem 0}.dim{color:var(--dim)}
dl{display:flex;flex-wrap:wrap;gap:1rem 2rem;margin:1.25rem 0}
dt{color:var(--dim);font-size:.85rem}dd{margin:0;font-size:1.3rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;width:100%}
th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,td:first-child,.key{text-align:left}
td.key{white-space:normal;overflow-wrap:anywhere;min-width:6.5rem;max-width:22rem}
section{overflow-x:auto}table{margin-top:.75rem}svg{min-width:34rem;width:100%;height:auto;display:block}
svg text{fill:var(--ink);font:12px system-ui,sans-serif}
.bar{fill:var(--bar)}.axis{stroke:var(--line)}`

// mostBars is the largest number of rows in a chart. mostLines is the largest number of rows in a
// table.
const (
	mostBars  = 20
	mostLines = 500
)

// page builds an HTML document. Its callers must escape all text.
type page struct{ strings.Builder }

func (p *page) write(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// reportPage returns a self-contained page with the reports.
func reportPage(host string, now time.Time, reports []api.ReportReply) string {
	p := &page{}
	main := &reports[0]
	title := "GPU use on " + host
	p.write("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n")
	p.write("<meta name=\"viewport\" content=\"width=device-width\">\n<title>%s</title>\n", chart.Escape(title))
	p.write("<style>%s</style></head>\n<body><h1>%s</h1>\n", pageStyle, chart.Escape(title))
	local := func(at time.Time) string { return at.In(now.Location()).Format("2006-01-02 15:04 MST") }
	p.write("<p class=\"dim\">%s to %s. Running jobs count up to now.</p>\n", local(main.Since), local(main.Until))
	p.summary(&main.Total)
	for i := range reports {
		if len(reports[i].By) > 0 {
			p.section(&reports[i])
		}
	}
	every := func(string) bool { return true }
	p.write("<p class=\"dim\">%s</p>\n<p class=\"dim\">Made by gpusched.</p>\n</body></html>\n", chart.Escape(legendOf(every)))
	return p.String()
}

func (p *page) summary(total *api.ReportRow) {
	p.write("<dl>")
	for _, fact := range [][2]string{
		{"GPU-hours", term.Hours(total.GPUHours)}, {"jobs", fmt.Sprint(total.Jobs)}, {"failed", fmt.Sprint(total.Failures())},
		{"energy", energyCell(total.EnergyJoules)}, {"GPUs computed", cli.Dash(cli.PercentOf(total.Efficiency.GPU))},
		{"waited, median", secondsCell(timesOf(total.Wait, median))}, {"waited, 95 %", secondsCell(timesOf(total.Wait, p95))},
		{"ran, median", secondsCell(timesOf(total.Run, median))},
	} {
		p.write("<div><dt>%s</dt><dd>%s</dd></div>", chart.Escape(fact[0]), chart.Escape(fact[1]))
	}
	p.write("</dl>\n")
}

// section writes one report: a chart of its GPU-hours, and a table with all its columns.
func (p *page) section(r *api.ReportReply) {
	by := strings.ReplaceAll(strings.Join(r.By, " and "), "gpu", "GPU")
	p.write("<section><h2>By %s</h2>\n", chart.Escape(by))
	if isPeriod(r.By[0]) && len(r.By) == 1 {
		p.drawColumns(r)
	} else {
		p.drawBars(r)
	}
	p.table(r)
	p.write("</section>\n")
}

func isPeriod(by string) bool { return slices.Contains([]string{"day", "week", "month"}, by) }

func rowName(r *api.ReportReply, row *api.ReportRow) string {
	var parts []string
	for i, key := range row.Keys {
		parts = append(parts, keyCell(r.By[i], key))
	}
	return strings.Join(parts, ", ")
}

// drawBars draws a bar for each row.
func (p *page) drawBars(r *api.ReportReply) {
	rows := r.Rows[:min(len(r.Rows), mostBars)]
	var bars []chart.Bar
	for i := range rows {
		bars = append(bars, chart.Bar{
			Name: shortened(rowName(r, &rows[i]), 30), Value: rows[i].GPUHours, Figure: term.Hours(rows[i].GPUHours) + " h",
		})
	}
	drawing := chart.Bars("GPU-hours by "+strings.ReplaceAll(r.By[0], "gpu", "GPU"), "bar", bars)
	p.WriteString(drawing)
	if more := len(r.Rows) - len(rows); more > 0 && drawing != "" {
		p.write("<p class=\"dim\">and %d more in the table</p>\n", more)
	}
}

// drawColumns draws a column for each period, even if the period has no job.
func (p *page) drawColumns(r *api.ReportReply) {
	if len(r.Rows) == 0 {
		return
	}
	of := map[string]float64{}
	for i := range r.Rows {
		of[r.Rows[i].Keys[0]] = r.Rows[i].GPUHours
	}
	slots := chart.Periods(r.By[0], r.Rows[0].Keys[0], r.Rows[len(r.Rows)-1].Keys[0])
	c := chart.Columns{
		Label: "GPU-hours by " + r.By[0], Width: 1000, Figure: func(h float64) string { return term.Hours(h) + " h" },
		Slots:  job.Each(slots, func(slot string) string { return keyCell(r.By[0], slot) }),
		Series: []chart.Series{{Class: "bar", Values: job.Each(slots, func(slot string) float64 { return of[slot] })}},
	}
	p.WriteString(c.SVG())
}

// table writes the same columns as on a terminal.
func (p *page) table(r *api.ReportReply) {
	rows := r.Rows[:min(len(r.Rows), mostLines)]
	cols := slices.DeleteFunc(reportColumns(r.By, false), func(c reportColumn) bool { return c.Title == "" })
	p.write("<div class=\"wide\"><table><thead><tr>")
	for i, c := range cols {
		p.write("<th scope=\"col\"%s>%s</th>", keyClass(i < len(r.By)), chart.Escape(c.Title))
	}
	p.write("</tr></thead><tbody>\n")
	for _, row := range rows {
		p.write("<tr>")
		for i, c := range cols {
			p.write("<td%s>%s</td>", keyClass(i < len(r.By)), chart.Escape(c.Cell(row)))
		}
		p.write("</tr>\n")
	}
	p.write("</tbody></table></div>\n")
	if more := len(r.Rows) - len(rows); more > 0 {
		p.write("<p class=\"dim\">and %d more: 'gpusched report --by %s -o csv' has all</p>\n", more, chart.Escape(strings.Join(r.By, ",")))
	}
}

func keyClass(key bool) string {
	if key {
		return ` class="key"`
	}
	return ""
}

func shortened(s string, n int) string {
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return s
}
