package screen

import (
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
)

// Styles for which package term has no names.
const (
	plain   = term.Plain
	bold    = term.Bold
	dim     = term.Dim
	reverse = term.Style("7")
	cyan    = term.Style("36")
	blue    = term.Style("34")
	magenta = term.Style("35")
)

// A Span is text in one style.
type Span struct {
	Style term.Style
	Text  string
}

// A Line is one line of a frame.
type Line []Span

// A Frame is the whole screen.
type Frame []Line

// String returns the frame without styles.
func (f Frame) String() string { return f.draw(func(s Span) string { return s.Text }) }

// Styled returns the frame with terminal sequences. If colour is not set, only bold and reverse
// remain, and red and yellow become bold.
func (f Frame) Styled(colour bool) string {
	return f.draw(func(s Span) string {
		style := s.Style
		if !colour {
			style = uncoloured(style)
		}
		if style == plain || s.Text == "" {
			return s.Text
		}
		return "\x1b[" + string(style) + "m" + s.Text + "\x1b[0m"
	})
}

func uncoloured(s term.Style) term.Style {
	switch s {
	case bold, reverse:
		return s
	case term.Red, term.Yellow:
		return bold
	}
	return plain
}

func (f Frame) draw(span func(Span) string) string {
	var b strings.Builder
	for i, l := range f {
		if i > 0 {
			b.WriteByte('\n')
		}
		var text strings.Builder
		for _, s := range l {
			text.WriteString(span(s))
		}
		b.WriteString(strings.TrimRight(text.String(), " "))
	}
	return b.String()
}

// A line collects the text of one line of the screen from left to right.
type line struct {
	spans Line
	width int // width of the screen
	used  int
	ascii bool
	all   term.Style // if set, replaces the style of every part
}

func (m *Model) line() *line { return &line{width: m.width, ascii: m.ASCII} }

// addText adds a text. The text is cut if it exceeds the remaining width.
func (l *line) addText(style term.Style, text string) {
	text = l.clean(text)
	if room := l.width - l.used; term.Columns(text) > room {
		text = l.cut(text, room)
	}
	if text == "" {
		return
	}
	if l.all != plain {
		style = l.all
	}
	l.used += term.Columns(text)
	if n := len(l.spans); n > 0 && l.spans[n-1].Style == style {
		l.spans[n-1].Text += text
		return
	}
	l.spans = append(l.spans, Span{style, text})
}

// addCell adds a text that is cut or padded to a width.
func (l *line) addCell(style term.Style, text string, width int, right bool) {
	l.addText(style, term.Pad(l.cut(l.clean(text), width), width, right))
}

// fill pads the line with spaces, so that its style reaches the edge.
func (l *line) fill() Line {
	l.addText(plain, strings.Repeat(" ", max(0, l.width-l.used)))
	return l.spans
}

// addRight writes a text at the right edge if all of it fits.
func (l *line) addRight(style term.Style, text string) {
	text = l.clean(text)
	if gap := l.width - l.used - term.Columns(text); gap > 0 {
		l.addText(plain, strings.Repeat(" ", gap))
		l.addText(style, text)
	}
}

// clean removes control characters. If ascii is set, it also replaces all non-ASCII characters.
func (l *line) clean(text string) string {
	text = term.Clean(text)
	if !l.ascii {
		return text
	}
	return strings.Map(func(r rune) rune {
		if ascii, ok := asASCII[r]; ok {
			return ascii
		}
		if r > '~' {
			return '?'
		}
		return r
	}, text)
}

func (l *line) cut(text string, width int) string {
	if width <= 0 {
		return ""
	}
	text = term.Cut(text, width)
	if l.ascii {
		text = strings.ReplaceAll(text, "…", "~")
	}
	return text
}

// asASCII replaces the characters of the screen that some terminals lack.
var asASCII = map[rune]rune{
	'…': '~', '█': '#', '▓': '=', '▒': 'x', '░': '.', '▚': '-', '·': '.',
}
