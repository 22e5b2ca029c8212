package screen

import (
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
)

// maxLines bounds what is kept of what a command prints; the oldest lines go first.
const maxLines = 5000

// pane shows what a command prints about a job.
type pane struct {
	number int
	args   []string
	lines  []string
	last   string // the beginning of a line that is not complete
	gone   int    // lines that were dropped
	top    int    // the first line that is shown
	follow bool   // the end stays in view
	ended  bool
}

// openPane runs a command about the selected job.
func (m *Model) openPane(args ...string) []any {
	j, ok := m.job()
	if !ok {
		return nil
	}
	m.panes++
	m.pane = &pane{number: m.panes, args: append(args, called(j)), follow: args[0] == "logs"}
	return []any{Open{Pane: m.panes, Args: m.pane.args, Width: m.width, Height: max(1, m.height-2)}}
}

// print adds what the command printed.
func (m *Model) print(p Printed) {
	if m.pane == nil || m.pane.number != p.Pane {
		return
	}
	m.pane.lines, m.pane.last = append(m.pane.lines, p.Lines...), p.Last
	m.pane.ended = m.pane.ended || p.Ended
	if over := len(m.pane.lines) - maxLines; over > 0 {
		m.pane.lines = append([]string(nil), m.pane.lines[over:]...)
		m.pane.gone += over
		m.pane.top = max(0, m.pane.top-over)
	}
}

// shown are the lines of the pane, those that are too long in several.
func (m *Model) shown() []string {
	lines := m.pane.lines
	if m.pane.last != "" {
		lines = append(lines[:len(lines):len(lines)], m.pane.last)
	}
	var out []string
	for _, text := range lines {
		out = append(out, wrapped(expanded(text), m.width, m.pane.args[0] != "logs")...)
	}
	return out
}

// expanded has spaces for tabulators.
func expanded(text string) string {
	var b strings.Builder
	for part, rest, more := strings.Cut(text, "\t"); ; part, rest, more = strings.Cut(rest, "\t") {
		b.WriteString(part)
		if !more {
			return b.String()
		}
		b.WriteString(strings.Repeat(" ", 8-term.Columns(b.String())%8))
	}
}

// wrapped is a text in pieces that are as wide as the screen. Sentences are cut at words.
func wrapped(text string, width int, sentence bool) []string {
	text = term.Clean(text)
	var out []string
	for term.Columns(text) > width {
		n := len(text)
		for i := range text {
			if term.Columns(text[:i]) > width {
				break
			}
			n = i
		}
		if n == 0 {
			return append(out, text)
		}
		if at := strings.LastIndexByte(text[:n], ' '); sentence && at > n/2 {
			n = at + 1
		}
		out, text = append(out, text[:n]), text[n:]
	}
	return append(out, text)
}

func (m *Model) paneKey(k Key) []any {
	p, page := m.pane, max(1, m.height-2)
	last := max(0, len(m.shown())-page)
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

// drawPane is the screen with the pane on it.
func (m *Model) drawPane() Frame {
	p, lines, page := m.pane, m.shown(), max(1, m.height-2)
	top := min(p.top, max(0, len(lines)-page))
	if p.follow {
		top = max(0, len(lines)-page)
	}
	head := m.line()
	head.all = reverse
	head.put(plain, " gpusched "+strings.Join(p.args, " "))
	switch {
	case p.ended && len(lines) == 0:
		head.put(plain, ": it printed nothing")
	case !p.ended && p.args[0] == "logs":
		head.put(plain, ": followed")
	case !p.ended:
		head.put(plain, ": …")
	}
	if p.gone > 0 {
		head.put(plain, fmt.Sprintf(" (the last %d lines)", maxLines))
	}
	if len(lines) > page {
		head.right(plain, fmt.Sprintf("%d-%d of %d ", top+1, min(top+page, len(lines)), len(lines)))
	}
	out := Frame{head.fill()}
	for i := range page {
		l := m.line()
		if top+i < len(lines) {
			l.put(plain, lines[top+i])
		}
		out = append(out, l.spans)
	}
	return append(out, m.hints("q back", "arrows, PgUp, PgDn move", "G end", "Ctrl-C leave"))
}
