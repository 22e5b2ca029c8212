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

// nameOf tells a row from all others: tasks of an array have one for each state.
func nameOf(j *api.Job) string {
	if j.Together != "" {
		return j.Called() + " " + j.StateWord()
	}
	return j.Called()
}

// idOf is the job, with which tasks it is as far as there is room.
func idOf(j api.Job) string {
	if text := j.WithTasks(); len(text) <= longestID {
		return text
	}
	return j.Called()
}

// stateWord is the state, or what is being done about it, in few columns.
func stateWord(j api.Job) string {
	word := string(j.State)
	switch {
	case j.State == job.Queued && j.Held():
		word = "held"
	case j.StopRequested != "" && !j.State.Terminal():
		word = "ending"
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

// gpusOf is which GPUs a job has, in brackets how many it asks.
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

// since is for how long a job runs, without the time in which it was suspended, or waits.
func since(j api.Job, now time.Time) time.Duration {
	if j.State == job.Queued || j.StartedAt.IsZero() {
		return max(0, now.Sub(cmp.Or(j.QueuedAt, j.SubmittedAt)))
	}
	return j.Elapsed(now)
}

// ahead says what comes next of a job: of one that runs how long it still may, or probably will,
// and of one that waits when it is expected to start.
func (m *Model) ahead(j api.Job) string {
	switch {
	case j.State == job.Queued && j.ExpectedStart.IsZero() && j.StartUnknown:
		return "unknown"
	case j.State == job.Queued && j.ExpectedStart.IsZero():
		return "-"
	case j.State == job.Queued && !j.ExpectedStart.After(m.now):
		return "soon"
	case j.State == job.Queued:
		return "in " + about(j.ExpectedStart.Sub(m.now))
	case j.Suspended() || j.StartedAt.IsZero():
		return ""
	case j.ExpectedEnd.After(m.now) && (j.TimeLimit == 0 || j.ExpectedEnd.Before(m.limit(j).Add(-time.Minute))):
		return "~" + about(j.ExpectedEnd.Sub(m.now))
	case j.TimeLimit > 0:
		return "<" + about(m.limit(j).Sub(m.now))
	}
	return "-"
}

// limit is when a job that runs reaches its time limit.
func (m *Model) limit(j api.Job) time.Time {
	return m.now.Add(j.TimeLimit.Duration() - since(j, m.now))
}

// about is a time of which the small unit does not matter.
func about(d time.Duration) string {
	if d >= 10*time.Hour {
		d = d.Truncate(time.Hour)
	}
	return term.Age(d)
}

// column is one of the table of jobs.
type column struct {
	title string
	least int // columns of the screen
	most  int
	right bool
	cell  func(api.Job) string
	style func(api.Job) term.Style
	need  int // the width of the screen from which it is shown
}

// longestID is how wide the first column may be.
const longestID = 14

func (m *Model) jobColumns() []column {
	local := m.terminal()
	return []column{
		{title: "ID", least: 4, most: longestID, right: true, cell: idOf},
		{title: "USER", least: 4, most: 12, cell: func(j api.Job) string { return j.User }},
		{title: "NAME", least: 4, most: 24, cell: func(j api.Job) string { return j.Name }, need: 56},
		{title: "STATE", least: 5, most: 14, cell: stateWord, style: stateStyle},
		{title: "GPUS", least: 4, most: 9, cell: gpusOf},
		{title: "TIME", least: 4, most: 6, right: true, cell: func(j api.Job) string { return term.Age(since(j, m.now)) }},
		{title: "LEFT", least: 4, most: 8, right: true, cell: m.ahead, need: 48},
		{title: "WHY", least: 8, most: 400, cell: func(j api.Job) string { return j.Cause(local.Reader()) }, need: 70},
	}
}

// terminal has the rule for times.
func (m *Model) terminal() *term.Terminal { return &term.Terminal{TTY: true, Now: m.now} }

// writeJobs are the table of the jobs that fit into so many lines, below its head.
func (m *Model) writeJobs(lines int) Frame {
	cols := slices.DeleteFunc(m.jobColumns(), func(c column) bool { return m.width < c.need })
	rows := m.rows[min(m.top, len(m.rows)):min(m.top+lines, len(m.rows))]
	widths := m.measure(cols, rows)
	head := m.line()
	for i, c := range cols {
		if i == len(cols)-1 {
			widths[i] = min(widths[i], max(c.least, m.width-head.used))
			head.put(dim, c.title)
			break
		}
		head.cell(dim, c.title, widths[i], c.right)
		head.put(plain, " ")
	}
	head.right(dim, m.whichJobs(len(rows)))
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
			l.cell(style, c.cell(rows[i]), widths[at], c.right)
			l.put(plain, " ")
		}
		out = append(out, l.fill())
	}
	return out
}

// measure is how wide each column is: as wide as it has to be, and the widest give way.
func (m *Model) measure(cols []column, rows []api.Job) []int {
	widths, over := make([]int, len(cols)), len(cols)-1-m.width
	for i, c := range cols {
		widths[i] = max(c.least, term.Columns(c.title))
		for at := range rows {
			widths[i] = max(widths[i], min(c.most, term.Columns(c.cell(rows[at]))))
		}
		over += widths[i]
	}
	for ; over > 0; over-- {
		widest := -1
		for i, c := range cols {
			if widths[i] > c.least && (widest < 0 || widths[i]-2*c.least > widths[widest]-2*cols[widest].least) {
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

// whichJobs says which of how many jobs are shown.
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

// empty says that there is no job to show, and why.
func (m *Model) empty() string {
	switch {
	case m.filter != "":
		return "no job has " + strconv.Quote(m.filter) + " (Esc shows all)"
	case m.Mine:
		return "you have no job here (u shows everybody's)"
	}
	return "no jobs"
}

// ownLine is what I have and wait for.
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
		text += ", the next starts in about " + about(first.ExpectedStart.Sub(m.now))
	case first.StartUnknown:
		text += ", when the next starts is unknown"
	}
	return text
}
