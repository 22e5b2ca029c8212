package term

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	xterm "golang.org/x/term"
)

// A Terminal is an output and its properties.
type Terminal struct {
	W      *bufio.Writer
	TTY    bool
	Colour bool
	Width  int       // width in columns; 0: not a terminal
	Height int       // height in lines; 0: unknown
	Now    time.Time // the current time in the reader's time zone, to which times are relative

	file  *os.File
	fixed int // the width that COLUMNS sets; 0: not set
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool { return xterm.IsTerminal(int(f.Fd())) }

// New returns the Terminal for an output. If the output is not a terminal, the result has width 0
// and no colour.
func New(f *os.File, getenv func(string) string, now time.Time) *Terminal {
	t := &Terminal{W: bufio.NewWriter(f), Now: now}
	if !IsTerminal(f) {
		return t
	}
	t.TTY, t.Width = true, 80
	t.file = f
	var columns int
	if _, err := fmt.Sscan(getenv("COLUMNS"), &columns); err == nil && columns > 0 {
		t.fixed = columns
	}
	t.Measure()
	t.Colour = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return t
}

// Measure updates the terminal's size.
func (t *Terminal) Measure() {
	if t.file == nil {
		return
	}
	if w, h, err := xterm.GetSize(int(t.file.Fd())); err == nil && w > 0 {
		t.Width, t.Height = w, h
	}
	if t.fixed > 0 {
		t.Width = t.fixed
	}
}

// Printf writes text for people.
func (t *Terminal) Printf(format string, args ...any) { fmt.Fprintf(t.W, format, args...) }

// A Style is a text attribute.
type Style string

// These are the styles, as SGR parameters.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Paint applies a style if the terminal has colour.
func (t *Terminal) Paint(s Style, text string) string {
	if !t.Colour || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Clean replaces characters that a terminal or a browser would act on, that are invisible, or that
// reverse the text. The daemon accepts only printable text, so this is a second protection.
func Clean(s string) string { return strings.Map(cleanRune, s) }

func cleanRune(r rune) rune {
	switch {
	case r >= ' ' && r < 0x7f: // the common case, tested first
		return r
	case r == unicode.ReplacementChar || !unicode.IsGraphic(r) || unicode.IsSpace(r):
		return '?'
	case unicode.In(r, unicode.Other_Default_Ignorable_Code_Point):
		return '?'
	}
	return r
}

// Columns returns how many columns of a terminal a text occupies.
func Columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// This table lists the scripts and symbols whose characters occupy two columns each.
var wide = [][2]rune{
	{0x1100, 0x115F}, {0x2E80, 0xA4CF}, {0xAC00, 0xD7A3}, {0xF900, 0xFAFF}, {0xFE30, 0xFE6F}, {0xFF00, 0xFF60},
	{0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
}

func runeColumns(r rune) int {
	if r < 0x300 { // all characters below this one occupy one column
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	for _, w := range wide {
		if r >= w[0] && r <= w[1] {
			return 2
		}
	}
	return 1
}

// Cut shortens a text to n columns and marks the place.
func Cut(s string, n int) string {
	if Columns(s) <= n {
		return s
	}
	used := 0
	for i, r := range s {
		if used += runeColumns(r); used > n-1 {
			return s[:i] + "…"
		}
	}
	return s
}
