package main

import (
	"bufio"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/gpusched/gpusched/daemon/job"
)

// terminal is one output and what it can show.
type terminal struct {
	w      *bufio.Writer
	tty    bool
	colour bool
	width  int       // columns; 0: not a terminal
	now    time.Time // what relative times are relative to
}

// printf writes text for people.
func (t *terminal) printf(format string, args ...any) { fmt.Fprintf(t.w, format, args...) }

// style is how a text stands out.
type style string

// The styles, as the numbers of SGR sequences.
const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// paint styles a text where there is colour.
func (t *terminal) paint(s style, text string) string {
	if !t.colour || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// when prints a moment: how long ago on a terminal, RFC 3339 elsewhere.
func (t *terminal) when(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	if !t.tty {
		return at.UTC().Format(time.RFC3339)
	}
	return age(t.now.Sub(at))
}

// ago is when, to be read in a sentence.
func (t *terminal) ago(at time.Time) string {
	if t.tty && !at.IsZero() {
		return t.when(at) + " ago"
	}
	return t.when(at)
}

// clock prints a moment ahead: the local time on a terminal, with the day where
// that is not today; RFC 3339 elsewhere.
func (t *terminal) clock(at time.Time) string {
	if at.IsZero() || !t.tty {
		return t.when(at)
	}
	at = at.In(t.now.Location())
	if at.Format(time.DateOnly) == t.now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

var sentenceTime = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} UTC`)

// local puts the times in a sentence of the daemon's as clock does; away from a
// terminal it stays as it is.
func (t *terminal) local(sentence string) string {
	if !t.tty {
		return sentence
	}
	return sentenceTime.ReplaceAllStringFunc(sentence, func(text string) string {
		at, err := time.Parse(job.SentenceTime, text)
		if err != nil {
			return text
		}
		return t.clock(at)
	})
}

// about is a moment that was predicted, to be read in a sentence.
func (t *terminal) about(at time.Time) string {
	switch {
	case !t.tty:
		return "about " + t.clock(at)
	case at.Sub(t.now) < time.Minute:
		return "in a moment"
	}
	return "about " + t.ahead(at)
}

// expected is a moment that was predicted, for a table.
func (t *terminal) expected(at time.Time) string {
	switch {
	case at.IsZero() || !t.tty:
		return t.clock(at)
	case at.Before(t.now):
		return "soon"
	}
	return "in " + age(at.Sub(t.now))
}

// ahead is a moment ahead with how far it is, to be read in a sentence.
func (t *terminal) ahead(at time.Time) string {
	if !t.tty {
		return t.clock(at)
	}
	return t.clock(at) + " (in " + age(at.Sub(t.now)) + ")"
}

// age prints a duration with two units at most: 42s, 12m, 3h12m, 2d4h.
func age(d time.Duration) string {
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

// clean replaces what a terminal would act on. The daemon lets in printable
// text only; this is for the day when it does not.
func clean(s string) string { return strings.Map(cleanRune, s) }

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

// cut shortens a text to n columns and shows that it did.
func cut(s string, n int) string {
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
