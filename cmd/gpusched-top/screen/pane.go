package screen

import (
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
)

// maxLines is the maximum number of lines in a pane. The oldest lines are dropped.
const maxLines = 5000

// A pane shows the output of a command about a job.
type pane struct {
	number int
	args   []string
	lines  []string
	last   string   // incomplete last line
	gone   bool     // some lines were dropped
	rows   []string // wrapped lines
	width  int      // width to which rows are wrapped
	top    int      // index of the first row on the screen
	follow bool     // the pane stays at the end of the output
	ended  bool
}

// openPane opens a pane and runs a command about the selected job in it.
func (m *Model) openPane(args ...string) []any {
	j, ok := m.job()
	if !ok {
		return nil
	}
	m.panes++
	m.pane = &pane{number: m.panes, args: append(args, j.Called()), follow: args[0] == "logs"}
	return []any{Open{Pane: m.panes, Args: m.pane.args, Width: m.width, Height: max(1, m.height-2)}}
}

// print adds output to the pane.
func (m *Model) print(p Printed) {
	if m.pane == nil || m.pane.number != p.Pane {
		return
	}
	m.wrappedLines() // updates rows
	for _, text := range p.Lines {
		m.pane.lines = append(m.pane.lines, text)
		m.pane.rows = append(m.pane.rows, m.rowsOf(text)...)
	}
	m.pane.last, m.pane.ended = p.Last, m.pane.ended || p.Ended
	if len(m.pane.lines) > 2*maxLines { // drop lines only rarely, because all lines must then be wrapped again
		m.pane.lines = append([]string(nil), m.pane.lines[len(m.pane.lines)-maxLines:]...)
		m.pane.gone, m.pane.width = true, 0
		before := len(m.pane.rows)
		m.pane.top = max(0, m.pane.top-before+len(m.wrappedLines()))
	}
}

// rowsOf wraps a line to the width of the screen.
func (m *Model) rowsOf(text string) []string {
	return wrap(expandTabs(text), m.width, m.pane.args[0] != "logs")
}

// wrappedLines returns the lines of the pane, wrapped.
func (m *Model) wrappedLines() []string {
	p := m.pane
	if p.width != m.width {
		p.rows, p.width = nil, m.width
		for _, text := range p.lines {
			p.rows = append(p.rows, m.rowsOf(text)...)
		}
	}
	if p.last == "" {
		return p.rows
	}
	return append(p.rows[:len(p.rows):len(p.rows)], m.rowsOf(p.last)...)
}

// expandTabs replaces tabs with spaces.
func expandTabs(text string) string {
	var b strings.Builder
	for part, rest, more := strings.Cut(text, "\t"); ; part, rest, more = strings.Cut(rest, "\t") {
		b.WriteString(part)
		if !more {
			return b.String()
		}
		b.WriteString(strings.Repeat(" ", 8-term.Columns(b.String())%8))
	}
}

// wrap splits a text into pieces of the given width. A sentence is split between words.
func wrap(text string, width int, sentence bool) (out []string) {
	text = term.Clean(text)
	start, used, word := 0, 0, 0
	for i, r := range text {
		n := term.Columns(string(r))
		if used+n > width && i > start {
			end := i
			if sentence && word-start > (i-start)/2 {
				end = word
			}
			out = append(out, text[start:end])
			start, used = end, term.Columns(text[end:i])
		}
		if used += n; r == ' ' {
			word = i + 1
		}
	}
	return append(out, text[start:])
}

func (m *Model) paneKey(k Key) []any {
	p, page := m.pane, max(1, m.height-2)
	last := max(0, len(m.wrappedLines())-page)
	if p.follow {
		p.top = last
	}
	switch k.Name {
	case "q", "esc", "Q":
		m.pane = nil
		return append([]any{Close{p.number}}, m.ask()...)
	case "up", "k":
		p.top--
	case "down", "j", "enter":
		p.top++
	case "pgup", "ctrl+b", "b":
		p.top -= page
	case "pgdown", "ctrl+f", "space", "f":
		p.top += page
	case "home", "g":
		p.top = 0
	case "end", "G":
		p.top = last
	}
	p.top = max(0, min(p.top, last))
	p.follow = p.top == last && p.args[0] == "logs"
	return nil
}

func (m *Model) drawPane() Frame {
	p, lines, page := m.pane, m.wrappedLines(), max(1, m.height-2)
	top := min(p.top, max(0, len(lines)-page))
	if p.follow {
		top = max(0, len(lines)-page)
	}
	head := m.line()
	head.all = reverse
	head.addText(plain, " gpusched "+strings.Join(p.args, " "))
	switch {
	case p.ended && len(lines) == 0:
		head.addText(plain, ": no output")
	case !p.ended && p.args[0] == "logs":
		head.addText(plain, ": following")
	case !p.ended:
		head.addText(plain, ": …")
	}
	if p.gone {
		head.addText(plain, fmt.Sprintf(" (the last %d lines)", len(p.lines)))
	}
	if len(lines) > page {
		head.addRight(plain, fmt.Sprintf("%d-%d of %d ", top+1, min(top+page, len(lines)), len(lines)))
	}
	out := Frame{head.fill()}
	for i := range page {
		l := m.line()
		if top+i < len(lines) {
			l.addText(plain, lines[top+i])
		}
		out = append(out, l.spans)
	}
	return append(out, m.drawKeys("arrows, PgUp, PgDn move", "G end", "q back", "Ctrl-C quit"))
}
