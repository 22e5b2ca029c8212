package main

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/report/chart"
)

// historyView is the content of the page about the last days.
type historyView struct {
	Host    string
	Windows []windowView
	Days    int
	Zone    string
	At      time.Time // zero before the first answer
	Trouble string
	None    bool // no job used a GPU
	Facts   [][2]string
	Charts  []chartView
}

type windowView struct {
	Days int
	Here bool
}

// A chartView is a chart with its legend, and the same figures as a table.
type chartView struct {
	ID, Title, Note string
	Drawing         template.HTML
	Key             []keyView
	Head            []string
	Rows            [][]string // newest first
}

type keyView struct{ Class, Name, Figure string }

// chartWidth is the width of a chart in SVG units. Two charts fit side by side.
const chartWidth = 640

// maxUserSeries is the maximum number of users with their own colour.
const maxUserSeries = 7

func historyViewOf(host string, p pastDays, zone *time.Location) historyView {
	v := historyView{Host: host, Days: p.length, At: p.at}
	if p.err != nil {
		v.Trouble = p.err.Error()
	}
	v.Windows = job.Each(windows, func(days int) windowView { return windowView{days, days == p.length} })
	if p.at.IsZero() {
		return v
	}
	v.Zone = p.days.Until.In(zone).Format("MST")
	if v.None = p.days.Total.Jobs == 0; v.None {
		return v
	}
	v.Facts = factsOf(&p.days.Total)
	d := daysOf(p, zone)
	for _, c := range []*chartView{d.drawHours(&p.users), d.drawUse(p.gpus), d.drawEnded(), d.drawWaits()} {
		if c != nil {
			v.Charts = append(v.Charts, *c)
		}
	}
	return v
}

// factsOf returns the totals of the whole period. 'gpusched report --html' prints the same totals.
func factsOf(total *api.ReportRow) [][2]string {
	list := [][2]string{
		{"GPU-hours", term.Hours(total.GPUHours)}, {"jobs", fmt.Sprint(total.Jobs)}, {"failed", fmt.Sprint(total.Failures())},
	}
	if e := total.Efficiency.GPU; e != nil {
		list = append(list, [2]string{"GPUs computed", percent(*e)})
	}
	if w := total.Wait; w != nil {
		list = append(list, [2]string{"waited, median", seconds(w.Median)}, [2]string{"waited, 95 %", seconds(w.P95)})
	}
	if r := total.Run; r != nil {
		list = append(list, [2]string{"ran, median", seconds(r.Median)})
	}
	return list
}

func percent(p float64) string { return fmt.Sprintf("%.0f %%", p) }
func seconds(s float64) string { return term.Age(time.Duration(s * float64(time.Second))) }

// dayRows are the days of a window. A day without jobs has an empty row.
type dayRows struct {
	slots []string
	rows  []api.ReportRow
	long  []float64 // hours per day that the window covers
}

func daysOf(p pastDays, zone *time.Location) dayRows {
	since, until := p.days.Since.In(zone), p.days.Until.In(zone)
	d := dayRows{slots: chart.Periods("day", since.Format(time.DateOnly), until.Format(time.DateOnly))}
	of := map[string]api.ReportRow{}
	for _, row := range p.days.Rows {
		of[row.Keys[0]] = row
	}
	for _, slot := range d.slots {
		d.rows = append(d.rows, of[slot])
		begin, _ := time.ParseInLocation(time.DateOnly, slot, zone) // cannot fail: Periods wrote the slot
		end := begin.AddDate(0, 0, 1)
		if end.After(until) {
			end = until
		}
		d.long = append(d.long, end.Sub(begin).Hours())
	}
	return d
}

// drawChart draws a chart with one column per day.
func (d *dayRows) drawChart(id, title string, c chart.Columns) *chartView {
	c.Label, c.Width = title+"; the table below has the figures", chartWidth
	c.Slots = job.Each(d.slots, func(slot string) string { return slot[len("2006-"):] })
	drawing := c.SVG()
	if drawing == "" {
		return nil
	}
	return &chartView{ID: id, Title: title, Drawing: template.HTML(drawing)} //nolint:gosec // package chart escapes
}

// tabulate makes the table of a chart, newest day first.
func (v *chartView) tabulate(d *dayRows, head []string, cells func(day int) []string) {
	v.Head = append([]string{"Day"}, head...)
	for i := range slices.Backward(d.slots) {
		v.Rows = append(v.Rows, append([]string{d.slots[i]}, cells(i)...))
	}
}

// drawHours draws the GPU-hours of each day by user. The users with the most hours have their own
// series; all other users share one series.
func (d *dayRows) drawHours(users *api.ReportReply) *chartView {
	byUser, slot := map[string][]float64{}, map[string]int{}
	for i, s := range d.slots {
		slot[s] = i
	}
	for _, row := range users.Rows {
		i, ok := slot[row.Keys[1]]
		if !ok || row.GPUHours == 0 {
			continue
		}
		if byUser[row.Keys[0]] == nil {
			byUser[row.Keys[0]] = make([]float64, len(d.slots))
		}
		byUser[row.Keys[0]][i] = row.GPUHours
	}
	var list []chart.Series
	rest := make([]float64, len(d.slots))
	for i := range rest {
		rest[i] = d.rows[i].GPUHours
	}
	for name, values := range byUser {
		list = append(list, chart.Series{Name: name, Values: values})
	}
	slices.SortFunc(list, func(a, b chart.Series) int {
		return cmp.Or(cmp.Compare(sum(b.Values), sum(a.Values)), strings.Compare(a.Name, b.Name))
	})
	list = list[:min(len(list), maxUserSeries)]
	for n := range list {
		list[n].Class = fmt.Sprintf("s%d", n)
		for i := range rest {
			rest[i] -= list[n].Values[i]
		}
	}
	for i := range rest {
		if rest[i] < 1e-6 { // only a rounding error remains
			rest[i] = 0
		}
	}
	if sum(rest) > 0 {
		name := "others"
		if len(list) == 0 {
			name = "all users"
		}
		list = append(list, chart.Series{Name: name, Class: "rest", Values: rest})
	}
	return d.drawStack("hours", "GPU-hours by day and user", list, 0, func(h float64) string { return term.Hours(h) + " h" })
}

func sum(values []float64) (all float64) {
	for _, v := range values {
		all += v
	}
	return all
}

// drawStack draws series on top of each other. The legend shows the sum of each series.
func (d *dayRows) drawStack(
	id, title string, list []chart.Series, most float64, figure func(float64) string,
) *chartView {
	v := d.drawChart(id, title, chart.Columns{Series: list, Most: most, Figure: figure})
	if v == nil {
		return nil
	}
	var head []string
	for _, s := range list {
		v.Key = append(v.Key, keyView{s.Class, s.Name, figure(sum(s.Values))})
		head = append(head, s.Name)
	}
	v.tabulate(d, append(head, "all"), func(day int) (cells []string) {
		all := 0.0
		for _, s := range list {
			all += s.Values[day]
			cells = append(cells, figure(s.Values[day]))
		}
		return append(cells, figure(all))
	})
	return v
}

// endClasses maps each state in which a job can end to its colour.
var endClasses = map[job.State]string{
	job.Completed: "s2", job.Failed: "s1", job.Cancelled: "rest", job.TimedOut: "s4", job.OutOfMemory: "s3",
	job.GPUOutOfMemory: "s5", job.Lost: "s6",
}

// drawEnded draws the number of jobs that ended on each day, by state.
func (d *dayRows) drawEnded() *chartView {
	var list []chart.Series
	for _, state := range job.States() {
		if !state.Terminal() {
			continue
		}
		s := chart.Series{Name: string(state), Class: endClasses[state]}
		for i := range d.rows {
			s.Values = append(s.Values, float64(d.rows[i].Ended[state]))
		}
		if sum(s.Values) > 0 {
			list = append(list, s)
		}
	}
	most := 0.0
	for i := range d.rows {
		all := 0.0
		for _, s := range list {
			all += s.Values[i]
		}
		most = max(most, all)
	}
	if most += float64(int(most) % 2); most > 10 {
		most = 0 // 0 lets package chart choose a round maximum; for a few jobs, half of the maximum must be whole
	}
	return d.drawStack("ends", "Jobs that ended by day", list, most, func(n float64) string { return fmt.Sprintf("%.0f", n) })
}

// drawUse draws two shares of the machine's GPU time for each day: the time that jobs held GPUs,
// and the time that GPUs computed.
func (d *dayRows) drawUse(gpus int) *chartView {
	if gpus == 0 {
		return nil
	}
	held, computed := make([]float64, len(d.slots)), make([]float64, len(d.slots))
	for i := range d.rows {
		if d.long[i] <= 0 {
			continue
		}
		held[i] = 100 * d.rows[i].GPUHours / (float64(gpus) * d.long[i])
		if e := d.rows[i].Efficiency.GPU; e != nil {
			computed[i] = held[i] * *e / 100
		}
	}
	v := d.drawChart("use", "Use of the GPUs by day", chart.Columns{
		Series: []chart.Series{{Name: "allocated to jobs", Class: "pale", Values: held}, {Name: "computing", Class: "s0", Values: computed}},
		Over:   true, Most: 100, Figure: percent,
	})
	if v == nil {
		return nil
	}
	v.Key = []keyView{{"pale", "allocated to jobs", ""}, {"s0", "computing", ""}}
	v.Note = fmt.Sprintf("100 %% is the whole time of %s, as many as the machine has now.", job.Count(int64(gpus), "GPU"))
	v.tabulate(d, []string{"allocated to jobs", "computing"}, func(day int) []string {
		if d.rows[day].Efficiency.GPU == nil {
			return []string{percent(held[day]), ""}
		}
		return []string{percent(held[day]), percent(computed[day])}
	})
	return v
}

// drawWaits draws the waiting times of the jobs that started on each day.
func (d *dayRows) drawWaits() *chartView {
	median, late := make([]float64, len(d.slots)), make([]float64, len(d.slots))
	for i := range d.rows {
		if w := d.rows[i].Wait; w != nil {
			median[i], late[i] = w.Median, w.P95
		}
	}
	v := d.drawChart("waits", "Waiting times of jobs, by the day they started", chart.Columns{
		Series: []chart.Series{{Name: "95 % waited no longer", Class: "pale", Values: late}, {Name: "median", Class: "s0", Values: median}},
		Over:   true, Most: longest(late), Figure: seconds,
	})
	if v == nil {
		return nil
	}
	v.Key = []keyView{{"s0", "median", ""}, {"pale", "95 % waited no longer", ""}}
	v.tabulate(d, []string{"started", "median", "95 %"}, func(day int) []string {
		w := d.rows[day].Wait
		if w == nil {
			return []string{"0", "", ""}
		}
		return []string{fmt.Sprint(w.Of), seconds(w.Median), seconds(w.P95)}
	})
	return v
}

// longest rounds the longest time up to the end of an
// axis. Both the end and half of it are easy to read.
func longest(list []float64) float64 {
	most := slices.Max(list)
	const minute, hour, day = 60, 3600, 24 * 3600
	for _, s := range []float64{
		10, 20, minute, 2 * minute, 10 * minute, 20 * minute, hour, 2 * hour, 4 * hour, 12 * hour,
		day, 2 * day, 4 * day, 10 * day, 20 * day,
	} {
		if most <= s {
			return s
		}
	}
	return most
}
