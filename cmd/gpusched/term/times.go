package term

import (
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/words"
)

// The one rule for times: what people read has them in the reader's zone, in tables and sentences alike. A
// terminal, which is read at once, leaves today's date out and adds to a sentence how long ago or ahead that is;
// text that may be read tomorrow, as in a file, has the date. Machines have RFC 3339 in UTC, by Column.Raw and JSON.

// Clock is a moment alone, for tables: "03:44", "2026-11-22 03:44".
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

// Moment is a moment for sentences and lines of facts: "03:44 (3h12m ago)",
// "22:00 (in 9h)".
func (t *Terminal) Moment(at time.Time) string {
	switch {
	case at.IsZero() || !t.TTY:
		return t.Clock(at)
	case at.After(t.Now):
		return t.Clock(at) + " (in " + Age(at.Sub(t.Now)) + ")"
	}
	return t.Clock(at) + " (" + Age(t.Now.Sub(at)) + " ago)"
}

// Run is when something started and how long it ran: "03:44 (3d ago), ran 9h12m"; what has
// no end still runs.
func (t *Terminal) Run(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return t.Moment(from)
	}
	return t.Moment(from) + ", ran " + Age(to.Sub(from))
}

// About is a moment that was predicted, to be read in a sentence.
func (t *Terminal) About(at time.Time) string {
	if t.TTY && at.Sub(t.Now) < time.Minute {
		return "in a moment"
	}
	return "about " + t.Moment(at)
}

// Expected is a moment that was predicted, for a table.
func (t *Terminal) Expected(at time.Time) string {
	if t.TTY && !at.IsZero() && at.Before(t.Now) {
		return "soon"
	}
	return t.Clock(at)
}

// Reader reads sentences with their times as Clock has them.
func (t *Terminal) Reader() words.Reader { return words.Reader{Moment: t.Clock} }

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

// Hours prints a number of hours, with as many digits as say something.
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
