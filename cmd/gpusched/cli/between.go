package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// PastWindow selects a time span in the past.
type PastWindow struct {
	Since string `name:"since" short:"S" placeholder:"WHEN"`
	Until string `name:"until" short:"E" placeholder:"WHEN"`
}

// Window returns the time span. If a result is zero, the span is open at that end.
func (w *PastWindow) Window(now time.Time) (from, to time.Time, err error) {
	if w.Since != "" {
		from, err = parsePast(w.Since, now)
	}
	if w.Until != "" && err == nil {
		to, err = parsePast(w.Until, now)
	}
	if err == nil && !from.IsZero() && !to.IsZero() && !from.Before(to) {
		err = Usagef("%s is not before %s (--since, --until)", w.Since, w.Until)
	}
	return from, to, err
}

// parsePast parses a time in the past: a duration before now, or a calendar date in the time zone
// of now. Days begin at midnight in that zone, and weeks on Monday.
func parsePast(text string, now time.Time) (time.Time, error) {
	word := strings.ToLower(strings.TrimSpace(text))
	y, m, d := now.Date()
	midnight := func(days int) time.Time { return time.Date(y, m, d+days, 0, 0, 0, 0, now.Location()) }
	switch word {
	case "now":
		return now, nil
	case "today", "midnight":
		return midnight(0), nil
	case "yesterday":
		return midnight(-1), nil
	case "week":
		return midnight(-weekday(now)), nil
	case "month":
		return time.Date(y, m, 1, 0, 0, 0, 0, now.Location()), nil
	case "year":
		return time.Date(y, 1, 1, 0, 0, 0, 0, now.Location()), nil
	}
	for i := range 7 {
		if name := strings.ToLower(time.Weekday((i + 1) % 7).String()); len(word) >= 3 && strings.HasPrefix(name, word) {
			return midnight(-(weekday(now) - i + 7) % 7), nil
		}
	}
	if at, ok := onDay(now, 0, word); ok {
		return at, nil
	}
	back := strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(word, " ago"), "ago"), "now-") // as in sacct: now-7d
	if ago, err := job.ParseDuration(back); err == nil && ago > 0 {
		return now.Add(-ago), nil
	}
	if at, ok := dateOf(strings.TrimSpace(text), now); ok {
		return at, nil
	}
	return time.Time{}, Usagef("%q is not a time: use 7d, 12h, today, yesterday, monday, week, month, "+
		"2026-11-22 or '2026-11-22 08:00'", text)
}

// weekday returns the number of days since Monday.
func weekday(at time.Time) int { return (int(at.Weekday()) + 6) % 7 }

// PercentOf formats a percentage; "" if it is unknown.
func PercentOf(p *float64) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%.0f%%", *p)
}
