package screen

import (
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
)

// Keys lists the keys and their effects. Help and the manual show them.
var Keys = [][2]string{
	{"Up, Down, k, j", "select a job or a GPU; also PgUp, PgDn, Home, End (g, G)"},
	{"Tab", "switch between jobs and GPUs"},
	{"Enter, s", "show everything about the job"},
	{"l", "follow its output"},
	{"w", "show why it waits, GPU by GPU"},
	{"c", "cancel it (asks first)"},
	{"p", "pause or resume the GPU, for administrators (asks first)"},
	{"/", "show only jobs whose id, user, name, state or reason fits"},
	{"o", "sort by user, name, GPUs, time or queue order"},
	{"u", "switch between your own jobs and all"},
	{"r", "refresh now"},
	{"?, h", "this help"},
	{"q, Esc, Ctrl-C", "quit; Ctrl-Z suspends top until the shell's fg"},
}

// keyWidth is the width of the column with the keys.
const keyWidth = 16

// helpLines returns the whole text of help, wrapped to the width of the screen.
func (m *Model) helpLines() (lines []Line) {
	add := func(key, text string) {
		for i, part := range wrapWords(text, max(10, m.width-keyWidth)) {
			l := m.line()
			if i > 0 {
				key = ""
			}
			l.addText(bold, term.Pad(key, keyWidth, false))
			l.addText(plain, part)
			lines = append(lines, l.spans)
		}
	}
	for _, k := range Keys {
		add(k[0], k[1])
	}
	lines = append(lines, nil)
	l := m.line()
	l.addText(bold, term.Pad("MEMORY", keyWidth, false))
	for _, part := range []Span{
		{jobStyle(0), jobBlocks[0] + " "}, {jobStyle(1), jobBlocks[1]}, {plain, " jobs, "},
		{term.Yellow, foreignBlock}, {plain, " outside jobs, "}, {dim, otherBlock}, {plain, " other, "}, {dim, freeBlock}, {plain, " free"},
	} {
		l.addText(part.Style, part.Text)
	}
	lines = append(lines, l.spans)
	add("LAST 60 S", "GPU utilisation; a space means that it is unknown")
	add("7_[0-9]", "tasks of an array in the same state; type /7_3 to find one")
	add("TIME", "how long the job has been running or waiting")
	add("LEFT", "running: <2h until the time limit, ~2h until the expected end; waiting: when it is expected to start")
	return lines
}

// wrapWords wraps a text between words.
func wrapWords(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && term.Columns(line+" "+word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// helpKey handles a key while help is shown: it scrolls or leaves help.
func (m *Model) helpKey(k Key) {
	last := max(0, len(m.helpLines())-(m.height-1))
	switch k.Name {
	case "down", "j", "pgdown", "space":
		m.helpTop = min(m.helpTop+max(1, m.height-3), last)
	case "up", "k", "pgup":
		m.helpTop = max(0, m.helpTop-max(1, m.height-3))
	default:
		m.help, m.helpTop = false, 0
	}
}

func (m *Model) drawHelp() Frame {
	head, lines, page := m.line(), m.helpLines(), m.height-1
	head.addText(bold, "gpusched top")
	m.helpTop = max(0, min(m.helpTop, len(lines)-page))
	if len(lines) > page {
		head.addText(dim, "  Up, Down: more; q back")
	} else {
		head.addText(dim, "  q back")
	}
	return append(Frame{head.spans}, lines[m.helpTop:min(len(lines), m.helpTop+page)]...)
}
