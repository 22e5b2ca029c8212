package term

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode"

	xterm "golang.org/x/term"

	"github.com/gpusched/gpusched/daemon/job"
)

// Terminal is one output and what it can show.
type Terminal struct {
	W      *bufio.Writer
	TTY    bool
	Colour bool
	Width  int       // columns; 0: not a terminal
	Now    time.Time // what relative times are relative to
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool { return xterm.IsTerminal(int(f.Fd())) }

// New describes an output. What is not a terminal has width 0 and no
// colour.
func New(f *os.File, getenv func(string) string, now time.Time) *Terminal {
	t := &Terminal{W: bufio.NewWriter(f), Now: now}
	if !IsTerminal(f) {
		return t
	}
	t.TTY, t.Width = true, 80
	if w, _, err := xterm.GetSize(int(f.Fd())); err == nil && w > 0 {
		t.Width = w
	}
	var columns int
	if _, err := fmt.Sscan(getenv("COLUMNS"), &columns); err == nil && columns > 0 {
		t.Width = columns
	}
	t.Colour = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return t
}

// Printf writes text for people.
func (t *Terminal) Printf(format string, args ...any) { fmt.Fprintf(t.W, format, args...) }

// Style is how a text stands out.
type Style string

// The styles, as the numbers of SGR sequences.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Paint styles a text where there is colour.
func (t *Terminal) Paint(s Style, text string) string {
	if !t.Colour || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// When prints a moment: how long ago on a terminal, RFC 3339 elsewhere.
func (t *Terminal) When(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	if !t.TTY {
		return at.UTC().Format(time.RFC3339)
	}
	return Age(t.Now.Sub(at))
}

// Ago is When, to be read in a sentence.
func (t *Terminal) Ago(at time.Time) string {
	if t.TTY && !at.IsZero() {
		return t.When(at) + " ago"
	}
	return t.When(at)
}

// Clock prints a moment ahead: the local time on a terminal, with the day where
// that is not today; RFC 3339 elsewhere.
func (t *Terminal) Clock(at time.Time) string {
	if at.IsZero() || !t.TTY {
		return t.When(at)
	}
	at = at.In(t.Now.Location())
	if at.Format(time.DateOnly) == t.Now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

var sentenceTime = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} UTC`)

// Local puts the times in a sentence of the daemon's as Clock does; away from a
// terminal it stays as it is.
func (t *Terminal) Local(sentence string) string {
	if !t.TTY {
		return sentence
	}
	return sentenceTime.ReplaceAllStringFunc(sentence, func(text string) string {
		at, err := time.Parse(job.SentenceTime, text)
		if err != nil {
			return text
		}
		return t.Clock(at)
	})
}

// About is a moment that was predicted, to be read in a sentence.
func (t *Terminal) About(at time.Time) string {
	switch {
	case !t.TTY:
		return "about " + t.Clock(at)
	case at.Sub(t.Now) < time.Minute:
		return "in a moment"
	}
	return "about " + t.Clock(at) + " (in " + Age(at.Sub(t.Now)) + ")"
}

// Expected is a moment that was predicted, for a table.
func (t *Terminal) Expected(at time.Time) string {
	switch {
	case at.IsZero() || !t.TTY:
		return t.Clock(at)
	case at.Before(t.Now):
		return "soon"
	}
	return "in " + Age(at.Sub(t.Now))
}

// Age prints a duration with two units at most: 42s, 12m, 3h12m, 2d4h.
func Age(d time.Duration) string {
	d = max(0, d)
	pair := func(big, small time.Duration, b, s string) string {
		text := fmt.Sprintf("%d%s", d/big, b)
		if rest := d % big / small; rest > 0 {
			text += fmt.Sprintf("%d%s", rest, s)
		}
		return text
	}
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 24*time.Hour:
		return pair(time.Hour, time.Minute, "h", "m")
	}
	return pair(24*time.Hour, time.Hour, "d", "h")
}

// Clean replaces what a terminal would act on. The daemon lets in printable
// text only; this is for the day when it does not.
func Clean(s string) string { return strings.Map(cleanRune, s) }

func cleanRune(r rune) rune {
	if r == unicode.ReplacementChar || r != ' ' && (!unicode.IsGraphic(r) || unicode.IsSpace(r)) {
		return '?'
	}
	return r
}

// columns counts the terminal columns that a text takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// wide are the scripts and symbols whose characters take two columns.
var wide = [][2]rune{
	{0x1100, 0x115F}, {0x2E80, 0xA4CF}, {0xAC00, 0xD7A3}, {0xF900, 0xFAFF}, {0xFE30, 0xFE6F}, {0xFF00, 0xFF60},
	{0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
}

func runeColumns(r rune) int {
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

// Cut shortens a text to n columns and shows that it did.
func Cut(s string, n int) string {
	if columns(s) <= n {
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
