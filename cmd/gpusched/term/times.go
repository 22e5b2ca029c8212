package term

import (
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/words"
)

// People read times in their own time zone, in tables and in sentences. A terminal is read at once:
// there, today's date is left out, and sentences say how long ago or ahead a moment is. Other text,
// such as a file, may be read later, so it has the date. Machines get RFC 3339 in UTC, from
// Column.Raw and JSON.

// Clock formats a moment for tables: "03:44", "2026-11-22 03:44".
func (t *Terminal) Clock(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	at = at.In(t.Now.Location())
	if t.TTY && at.Format(time.DateOnly) == t.Now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// Moment formats a moment for sentences: "03:44 (3h12m ago)", "22:00 (in 9h)".
func (t *Terminal) Moment(at time.Time) string {
	switch {
	case at.IsZero() || !t.TTY:
		return t.Clock(at)
	case at.After(t.Now):
		return t.Clock(at) + " (in " + Age(at.Sub(t.Now)) + ")"
	}
	return t.Clock(at) + " (" + Age(t.Now.Sub(at)) + " ago)"
}

// Run says when something started and how long it ran: "03:44 (3d ago), ran 9h12m". A zero end
// means that it is still running.
func (t *Terminal) Run(from, end time.Time) string {
	if from.IsZero() || end.IsZero() {
		return t.Moment(from)
	}
	return t.Moment(from) + ", ran " + Age(end.Sub(from))
}

// About formats a predicted moment for sentences.
func (t *Terminal) About(at time.Time) string {
	if t.TTY && at.Sub(t.Now) < time.Minute {
		return "in a moment"
	}
	return "about " + t.Moment(at)
}

// Expected formats a predicted moment for tables.
func (t *Terminal) Expected(at time.Time) string {
	if t.TTY && !at.IsZero() && at.Before(t.Now) {
		return "soon"
	}
	return t.Clock(at)
}

// Reader returns a words.Reader that formats times as Clock does.
func (t *Terminal) Reader() words.Reader { return words.Reader{Moment: t.Clock} }

// Age formats a duration in one or two units: 42s, 12m, 3h12m, 2d4h.
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

// Hours formats a number of hours with as many digits as are useful.
func Hours(h float64) string {
	switch {
	case h == 0:
		return "0"
	case h < 10:
		return fmt.Sprintf("%.2f", h)
	case h < 1000:
		return fmt.Sprintf("%.1f", h)
	}
	return fmt.Sprintf("%.0f", h)
}
