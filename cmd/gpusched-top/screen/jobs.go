package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// nameOf returns the key of a row. No two rows have the same
// key: an array has one row for each state of its tasks.
func nameOf(j *api.Job) string {
	if j.Together != "" {
		return j.Called() + " " + j.StateWord()
	}
	return j.Called()
}

// idOf returns the id of a row, with the indexes of its tasks if they fit.
func idOf(j api.Job) string {
	if text := j.WithTasks(); len(text) <= longestID {
		return text
	}
	return j.Called()
}

// stateWord returns a short word for the state, or
// for the action that is about to change the state.
func stateWord(j api.Job) string {
	word := string(j.State)
	switch {
	case j.State == job.Queued && j.Held():
		word = "held"
	case j.StopRequested != "" && !j.State.Terminal():
		word = "ending"
	case j.Parked != nil:
		word = string(j.Parked.State)
	case j.Suspended():
		word = "suspended"
	}
	return j.Several() + word
}

func stateStyle(j api.Job) term.Style {
	switch {
	case len(j.Warnings) > 0:
		return term.Yellow
	case j.State == job.Running && !j.Suspended() && j.StopRequested == "":
		return term.Green
	case j.State == job.Queued && !j.Held():
		return plain
	}
	return term.Yellow
}

// gpusOf lists the GPUs of a job. If it has none,
// gpusOf returns the requested number in parentheses.
func gpusOf(j api.Job) string {
	if len(j.GPUs) == 0 {
		if j.GPUMilli == 0 {
			return "-"
		}
		return "(" + job.FormatGPUs(j.GPUMilli) + ")"
	}
	var whole []int
	var parts []string
	for _, g := range j.GPUs {
		if g.Milli > 0 && g.Milli < job.WholeGPU {
			parts = append(parts, strconv.Itoa(g.Index)+":"+job.FormatGPUs(g.Milli))
			continue
		}
		whole = append(whole, g.Index)
	}
	if len(whole) > 0 {
		parts = append(parts, job.FormatGPUList(slices.Sorted(slices.Values(whole))))
	}
	return strings.Join(parts, ",")
}

// elapsed returns how long a job has been waiting or running. Suspensions do not count as running.
func elapsed(j api.Job, now time.Time) time.Duration {
	if j.State == job.Queued || j.StartedAt.IsZero() {
		return max(0, now.Sub(cmp.Or(j.QueuedAt, j.SubmittedAt)))
	}
	return j.Elapsed(now)
}

// timeLeft says how much time a running job has left, by its limit or by prediction. For a waiting
// job, it says when the job is expected to start.
func (m *Model) timeLeft(j api.Job) string {
	switch {
	case j.State == job.Queued && j.ExpectedStart.IsZero() && j.StartUnknown:
		return "unknown"
	case j.State == job.Queued && j.ExpectedStart.IsZero():
		return "-"
	case j.State == job.Queued && !j.ExpectedStart.After(m.now):
		return "soon"
	case j.State == job.Queued:
		return "in " + formatDuration(j.ExpectedStart.Sub(m.now))
	case j.Suspended() || j.StartedAt.IsZero():
		return ""
	case j.ExpectedEnd.After(m.now) && (j.TimeLimit == 0 || j.ExpectedEnd.Before(m.limit(j).Add(-time.Minute))):
		return "~" + formatDuration(j.ExpectedEnd.Sub(m.now))
	case j.TimeLimit > 0:
		return "<" + formatDuration(m.limit(j).Sub(m.now))
	}
	return "-"
}

// limit returns the time at which a running job reaches its time limit.
func (m *Model) limit(j api.Job) time.Time {
	return m.now.Add(j.TimeLimit.Duration() - elapsed(j, m.now))
}

// formatDuration formats a duration. Durations from 10 hours on are without minutes.
func formatDuration(d time.Duration) string {
	if d >= 10*time.Hour {
		d = d.Truncate(time.Hour)
	}
	return term.Age(d)
}

// A column is a column of the job table.
type column struct {
	title    string
	minWidth int // in characters, as is maxWidth
	maxWidth int
	right    bool
	cell     func(api.Job) string
	style    func(api.Job) term.Style
	need     int // minimum width of the screen that shows the column
}

// longestID is the maximum width of the column with the id.
const longestID = 14

func (m *Model) jobColumns() []column {
	local := m.terminal()
	return []column{
		{title: "ID", minWidth: 4, maxWidth: longestID, right: true, cell: idOf},
		{title: "USER", minWidth: 4, maxWidth: 12, cell: func(j api.Job) string { return j.User }},
		{title: "NAME", minWidth: 4, maxWidth: 24, cell: func(j api.Job) string { return j.Name }, need: 56},
		{title: "STATE", minWidth: 5, maxWidth: 14, cell: stateWord, style: stateStyle},
		{title: "GPUS", minWidth: 4, maxWidth: 9, cell: gpusOf},
		{title: "TIME", minWidth: 4, maxWidth: 6, right: true, cell: func(j api.Job) string { return term.Age(elapsed(j, m.now)) }},
		{title: "LEFT", minWidth: 4, maxWidth: 8, right: true, cell: m.timeLeft, need: 48},
		{title: "WHY", minWidth: 8, maxWidth: 400, cell: func(j api.Job) string { return j.Cause(local.Reader()) }, need: 70},
	}
}

func (m *Model) terminal() *term.Terminal { return &term.Terminal{TTY: true, Now: m.now} }

// writeJobs draws the job table with its heading in the given number of lines.
func (m *Model) writeJobs(lines int) Frame {
	cols := slices.DeleteFunc(m.jobColumns(), func(c column) bool { return m.width < c.need })
	rows := m.rows[min(m.top, len(m.rows)):min(m.top+lines, len(m.rows))]
	widths := m.measure(cols, rows)
	head := m.line()
	for i, c := range cols {
		if i == len(cols)-1 {
			widths[i] = min(widths[i], max(c.minWidth, m.width-head.used))
			head.addText(dim, c.title)
			break
		}
		head.addCell(dim, c.title, widths[i], c.right)
		head.addText(plain, " ")
	}
	head.addRight(dim, m.whichJobs(len(rows)))
	out := Frame{head.spans}
	for i := range rows {
		l := m.line()
		if nameOf(&rows[i]) == m.selected && !m.onGPUs {
			l.all = reverse
		}
		for at, c := range cols {
			style := plain
			switch {
			case c.style != nil:
				style = c.style(rows[i])
			case c.title == "USER" && rows[i].UID == m.UID:
				style = bold
			}
			l.addCell(style, c.cell(rows[i]), widths[at], c.right)
			l.addText(plain, " ")
		}
		out = append(out, l.fill())
	}
	return out
}

// measure returns the widths of the columns. It begins with the widths that the cells need, and
// reduces the widest columns until the table fits.
func (m *Model) measure(cols []column, rows []api.Job) []int {
	widths, over := make([]int, len(cols)), len(cols)-1-m.width
	for i, c := range cols {
		widths[i] = max(c.minWidth, term.Columns(c.title))
		for at := range rows {
			widths[i] = max(widths[i], min(c.maxWidth, term.Columns(c.cell(rows[at]))))
		}
		over += widths[i]
	}
	for ; over > 0; over-- {
		widest := -1
		for i, c := range cols {
			if widths[i] > c.minWidth && (widest < 0 || widths[i]-2*c.minWidth > widths[widest]-2*cols[widest].minWidth) {
				widest = i
			}
		}
		if widest < 0 {
			return widths
		}
		widths[widest]--
	}
	return widths
}

// whichJobs says which part of the list of jobs is on the screen.
func (m *Model) whichJobs(shown int) string {
	total := len(m.rows)
	if m.filter == "" {
		total += m.omitted()
	}
	switch {
	case total == 0 || shown == total:
		return ""
	case shown == 0:
		return fmt.Sprintf("%d", total)
	}
	return fmt.Sprintf("%d-%d of %d", m.top+1, m.top+shown, total)
}

// noJobs says why the table shows no job.
func (m *Model) noJobs() string {
	switch {
	case m.filter != "":
		return "no job matches " + strconv.Quote(m.filter) + " (Esc shows all)"
	case m.Mine:
		return "you have no jobs (u shows everybody's)"
	}
	return "no jobs"
}

// ownLine summarizes the user's running and waiting jobs.
func (m *Model) ownLine() string {
	running, milli := 0, 0
	var seen []api.Job
	if m.picture.List != nil {
		seen = m.picture.List.Jobs
	}
	for i := range seen {
		j := &seen[i]
		if j.UID == m.UID && j.State.Live() {
			running++
			for _, g := range j.GPUs {
				milli += cmp.Or(g.Milli, job.WholeGPU)
			}
		}
	}
	text := fmt.Sprintf("you: %d running", running)
	switch {
	case milli == job.WholeGPU:
		text += " on 1 GPU"
	case milli > 0:
		text += " on " + job.FormatGPUs(milli) + " GPUs"
	}
	own := m.picture.Own
	if own == nil || len(own.Jobs) == 0 {
		return text
	}
	text += fmt.Sprintf(", %d queued", len(own.Jobs)+own.Omitted)
	switch first := own.Jobs[0]; {
	case first.ExpectedStart.After(m.now):
		text += ", the next starts in about " + formatDuration(first.ExpectedStart.Sub(m.now))
	case first.StartUnknown:
		text += ", the next starts at an unknown time"
	}
	return text
}
