package term

import (
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/words"
)

// The rule for times: people read them in their own zone, in tables and in sentences. On a
// terminal, which is read at once, today's date is left out, and sentences add how long ago or
// ahead a moment is; text that may be read later, as in a file, has the date. Machines get RFC 3339
// in UTC, from Column.Raw and JSON.

// Clock writes a moment for tables: "03:44", "2026-11-22 03:44".
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

// Moment writes a moment for sentences: "03:44 (3h12m ago)", "22:00 (in 9h)".
func (t *Terminal) Moment(at time.Time) string {
	switch {
	case at.IsZero() || !t.TTY:
		return t.Clock(at)
	case at.After(t.Now):
		return t.Clock(at) + " (in " + Age(at.Sub(t.Now)) + ")"
	}
	return t.Clock(at) + " (" + Age(t.Now.Sub(at)) + " ago)"
}

// Run writes when something started and how long it ran: "03:44 (3d ago), ran 9h12m". Without an
// end it is still running.
func (t *Terminal) Run(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return t.Moment(from)
	}
	return t.Moment(from) + ", ran " + Age(to.Sub(from))
}

// About writes a predicted moment for a sentence.
func (t *Terminal) About(at time.Time) string {
	if t.TTY && at.Sub(t.Now) < time.Minute {
		return "in a moment"
	}
	return "about " + t.Moment(at)
}

// Expected writes a predicted moment for a table.
func (t *Terminal) Expected(at time.Time) string {
	if t.TTY && !at.IsZero() && at.Before(t.Now) {
		return "soon"
	}
	return t.Clock(at)
}

// Reader returns a reader whose sentences have times as Clock writes them.
func (t *Terminal) Reader() words.Reader { return words.Reader{Moment: t.Clock} }

// Age writes a duration in at most two units: 42s, 12m, 3h12m, 2d4h.
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

// Hours writes a number of hours with a useful number of digits.
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
