package screen

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// layout is the number of lines that each part of the screen gets.
type layout struct {
	head int
	gpus int // without their heading
	jobs int // without their heading
}

// layout gives the GPUs as many lines as they need, up to half of the available lines.
func (m *Model) layout() layout {
	head := 1
	switch alarm := m.alarm(); {
	case m.height >= 16 && alarm != "":
		head = 2 + min(mostNote, len(wrapWords(alarm, m.width)))
	case m.height >= 16:
		head = 3
	case m.height >= 12 || alarm != "":
		head = 2
	}
	room := m.height - head - len(m.lastLines())
	gpus := len(m.picture.GPUs.GPUs)
	most := max(1, room/2-1)
	if wanted := len(m.rows); wanted+1 < room-most-1 {
		most = max(most, room-wanted-2) // the GPUs also get lines that the jobs do not need
	}
	gpus = min(gpus, most)
	if gpus > 0 {
		room -= gpus + 1
	}
	return layout{head: head, gpus: gpus, jobs: max(0, room-1)}
}

// Frame draws the screen.
func (m *Model) Frame() Frame {
	var out Frame
	switch {
	case m.width < 20 || m.height < 6:
		out = m.tooSmall()
	case m.help:
		out = m.drawHelp()
	case m.pane != nil:
		out = m.drawPane()
	default:
		out = m.drawTables()
	}
	for len(out) < m.height {
		out = append(out, nil)
	}
	return out[:m.height]
}

func (m *Model) tooSmall() Frame {
	l := m.line()
	l.addText(plain, fmt.Sprintf("%dx%d is too small", m.width, m.height))
	return Frame{l.spans}
}

func (m *Model) drawTables() Frame {
	at := m.layout()
	out := m.drawHead(at.head)
	if at.gpus > 0 {
		out = append(out, m.writeGPUs(at.gpus)...)
	}
	switch {
	case len(m.rows) > 0:
		out = append(out, m.writeJobs(at.jobs)...)
	case !m.picture.At.IsZero():
		l := m.line()
		l.addText(plain, m.noJobs())
		out = append(out, nil, l.spans)
	}
	for len(out) < m.height-1 {
		out = append(out, nil)
	}
	last := m.lastLines()
	return append(out[:max(0, m.height-len(last))], last...)
}

// drawHead draws the scheduler's health, the totals and the user's own jobs.
func (m *Model) drawHead(lines int) Frame {
	first := m.line()
	first.addText(bold, "gpusched ")
	status := m.picture.Status
	switch {
	case m.picture.At.IsZero() && m.problem == nil:
		first.addText(plain, "asking the scheduler …")
	case status != nil:
		first.addText(healthStyle(status.Health), string(status.Health))
		first.addText(plain, "  "+cmp.Or(api.CountLine(status.Counts), "no jobs"))
	}
	if lines < 3 && len(m.picture.GPUs.GPUs) > 0 {
		first.addText(plain, "; GPUs: "+gpuCounts(m.picture.GPUs.GPUs))
	}
	first.addRight(dim, m.now.Format("15:04:05"))
	out := Frame{first.spans}
	if lines >= 3 {
		second := m.line()
		if gpus := m.picture.GPUs.GPUs; len(gpus) > 0 {
			second.addText(plain, "GPUs: "+gpuCounts(gpus))
		} else if !m.picture.At.IsZero() {
			second.addText(plain, "no GPUs")
		}
		if status != nil {
			second.addText(plain, promised(&status.Host))
		}
		out = append(out, second.spans)
	}
	if lines < 2 {
		return out
	}
	if alarm := m.alarm(); alarm != "" {
		return append(out, m.prose(term.Red, alarm, lines-len(out))...)
	}
	return append(out, m.thirdLine())
}

// thirdLine draws the user's own jobs and the active filters.
// If there is no room for both, it draws the filters.
func (m *Model) thirdLine() Line {
	l, marks := m.line(), ""
	if m.Mine {
		marks += "  only yours (u)"
	}
	if m.sort != byQueue {
		marks += "  by " + m.sort.String() + " (o)"
	}
	if m.filter != "" && !m.typing {
		marks += "  filter: " + term.Cut(m.filter, 24) + " (Esc)"
	}
	own := m.ownLine()
	for len(own) > 0 && term.Columns(own+marks) > m.width {
		own = own[:max(0, strings.LastIndex(own, ","))]
	}
	l.addText(plain, own)
	l.addText(term.Yellow, strings.TrimPrefix(marks, strings.Repeat(" ", max(0, 2-len(own)))))
	return l.spans
}

// alarm returns a problem that concerns the whole screen, or "".
func (m *Model) alarm() string {
	old := m.now.Sub(m.picture.At)
	age := "no answer for " + term.Age(old) + ", this is from " + m.picture.At.In(m.Zone).Format("15:04:05")
	switch {
	case m.problem != nil && m.picture.At.IsZero():
		return m.problem.Error()
	case m.problem != nil:
		return age + ": " + m.problem.Error()
	case !m.picture.At.IsZero() && m.asking && old > staleAfter:
		return age
	case m.picture.GPUs.Problem != "":
		return m.picture.GPUs.ProblemDetail
	case m.picture.List != nil && m.picture.List.Drain != nil:
		return m.picture.List.Drain.Text(m.terminal().Reader())
	}
	return ""
}

func healthStyle(h job.Health) term.Style {
	switch h {
	case job.Healthy:
		return term.Green
	case job.Degraded:
		return term.Yellow
	}
	return term.Red
}

// promised describes how much memory and how many CPUs are allocated to jobs.
func promised(h *job.HostView) string {
	var parts []string
	if h.MemBytes > 0 {
		parts = append(parts, "memory "+formatSize(h.PromisedMem)+" of "+formatSize(h.MemBytes))
	}
	if h.CPUs > 0 {
		parts = append(parts, fmt.Sprintf("CPUs %d of %d", h.PromisedCPUs, h.CPUs))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, ", ")
}

// formatSize formats a size. Sizes from 10 GiB on are in whole GiB.
func formatSize(n int64) string {
	if n >= 10<<30 {
		n = n >> 30 << 30
	}
	return job.FormatSize(n)
}

// mostNote is the maximum number of lines of a note or an alarm.
const mostNote = 3

// lastLines draws the first of these that exists: the open question, the filter that is being
// typed, the last note, the keys.
func (m *Model) lastLines() Frame {
	switch {
	case m.question != nil:
		return m.drawQuestion(m.question.text)
	case m.note == "" || m.typing:
		return Frame{m.lastLine()}
	}
	style := plain
	if m.bad {
		style = term.Red
	}
	return m.prose(style, m.note, max(1, min(mostNote, m.height/6)))
}

// drawQuestion draws a question in as many lines as it needs. The possible answers are at its end.
func (m *Model) drawQuestion(text string) (out Frame) {
	const answers = "[y/N]"
	lines := wrapWords(text, max(1, m.width-2))
	if last := lines[len(lines)-1]; term.Columns(last) > m.width-len(answers)-3 {
		lines = append(lines, "")
	}
	for i, part := range lines {
		l := m.line()
		l.all = reverse
		l.addText(plain, " "+part)
		if i == len(lines)-1 {
			l.addRight(plain, answers+" ")
		}
		out = append(out, l.fill())
	}
	return out
}

// prose draws a text in at most maxLines lines.
func (m *Model) prose(style term.Style, text string, maxLines int) (out Frame) {
	lines := wrapWords(text, m.width)
	for i, part := range lines[:min(maxLines, len(lines))] {
		l := m.line()
		if i == maxLines-1 && len(lines) > maxLines {
			part += " …"
		}
		l.addText(style, part)
		out = append(out, l.spans)
	}
	return out
}

func (m *Model) lastLine() Line {
	l := m.line()
	switch {
	case m.typing:
		l.addText(bold, "filter: ")
		l.addText(plain, m.filter)
		l.addText(reverse, " ")
		l.addRight(dim, "Enter keeps it, Esc clears it")
		return l.spans
	}
	if missing := m.hiddenColumns(); missing != "" && m.width < 70 {
		l.addText(dim, "? help · q quit · too narrow for "+missing)
		return l.spans
	}
	if m.onGPUs {
		return m.drawKeys("p pause/resume", "Tab jobs", "? help", "q quit")
	}
	return m.drawKeys("s show", "l logs", "w why", "c cancel", "/ filter", "Tab GPUs", "o sort", "u mine", "? help", "q quit")
}

// drawKeys draws as many keys as fit. It always draws the last two keys, help and leave.
func (m *Model) drawKeys(keys ...string) Line {
	l, last := m.line(), len(keys)-2
	room := l.width + 2 - term.Columns(strings.Join(keys[last:], "  ")) - 2
	fits := keys[:0:0]
	for _, text := range keys[:last] {
		if room -= term.Columns(text) + 2; room < 0 {
			break
		}
		fits = append(fits, text)
	}
	for _, text := range append(fits, keys[last:]...) {
		key, what, _ := strings.Cut(text, " ")
		l.addText(bold, key)
		l.addText(dim, " "+what+"  ")
	}
	return l.spans
}
