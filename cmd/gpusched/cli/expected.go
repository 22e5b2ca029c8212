package cli

import (
	"cmp"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// UnknownStart says why a start can't be predicted. The default reason is that nobody knows when
// the earlier jobs end.
func UnknownStart(j api.Job) string {
	return "start unknown: " + cmp.Or(j.StartUnknownWhy, "nobody can tell when the jobs before it end")
}

// StartText says when a waiting job is expected to start, with the range of probable times.
func StartText(t *term.Terminal, j api.Job) string {
	text, from, by := t.About(j.ExpectedStart), j.ExpectedStartFrom, j.ExpectedStartBy
	soon := t.TTY && j.ExpectedStart.Sub(t.Now) < time.Minute
	switch {
	case from.IsZero() && !by.IsZero() && !soon:
		return "by " + t.Moment(by) + " at the latest"
	case from.Equal(by) && !from.IsZero() && !soon:
		return "at " + t.Moment(by)
	case from.IsZero() || t.TTY && !by.IsZero() && by.Sub(t.Now) < time.Minute:
		return text
	case by.IsZero():
		return text + ", " + t.Clock(from) + " at the earliest"
	}
	return text + ", probably between " + t.Clock(from) + " and " + t.Clock(by)
}

// startCell is like StartText, but for a table. On a terminal the cell has the range of times,
// "13:50-16:00", or the date if the range begins on another day. The cell can also be "unknown".
func startCell(t *term.Terminal, j api.Job) string {
	if j.StartUnknown && j.ExpectedStart.IsZero() {
		return "unknown"
	}
	from, by := j.ExpectedStartFrom, j.ExpectedStartBy
	if t.TTY && from.IsZero() && by.After(t.Now) {
		return "by " + t.Clock(by)
	}
	if !t.TTY || from.IsZero() || !j.ExpectedStart.After(t.Now) {
		return t.Expected(j.ExpectedStart)
	}
	first, last := t.Clock(from), t.Clock(by)
	day, _, otherDay := strings.Cut(first, " ")
	switch {
	case otherDay:
		return day
	case first == last:
		return first
	case by.IsZero() || strings.Contains(last, " "):
		return "after " + first
	}
	return first + "-" + last
}
