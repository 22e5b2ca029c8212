package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// dateForms are the date formats that parseMoment accepts, in local time.
var dateForms = []string{
	"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly,
}

// parseMoment parses a time that is not before now. "now" gives the zero time. A time of day that
// has passed means tomorrow.
func parseMoment(s string, now time.Time) (time.Time, error) {
	if s == "now" {
		return time.Time{}, nil
	}
	at, ok := momentOf(strings.TrimSpace(s), now)
	switch {
	case !ok:
		return time.Time{}, fmt.Errorf("%q is not a time: use 22:00, 'tomorrow 8:00', 2026-11-22T08:00, +2h or now", s)
	case at.Before(now):
		return time.Time{}, fmt.Errorf("%q is in the past: it is %s now", s, now.Format("2006-01-02T15:04"))
	case at.After(now.Add(job.MaxDuration)):
		return time.Time{}, fmt.Errorf("%q is more than 10 years ahead", s)
	}
	return at, nil
}

func momentOf(s string, now time.Time) (time.Time, bool) {
	if after, ok := strings.CutPrefix(s, "+"); ok {
		d, err := job.ParseDuration(after)
		return now.Add(d), err == nil
	}
	day, clock, hasClock := strings.Cut(s, " ")
	switch {
	case day == "tomorrow" && !hasClock:
		return onDay(now, 1, "0:00")
	case day == "tomorrow":
		return onDay(now, 1, clock)
	case day == "today" && hasClock:
		return onDay(now, 0, clock)
	}
	if days, ok := daysUntil(day, now); ok && hasClock {
		if at, ok := onDay(now, days, clock); !ok || !at.Before(now) {
			return at, ok
		}
		return onDay(now, days+7, clock)
	}
	if at, ok := onDay(now, 0, s); ok {
		if at.Before(now) {
			return onDay(now, 1, s)
		}
		return at, true
	}
	return dateOf(s, now)
}

// daysUntil returns the number of days until the next day of this name, such as Sun or Sunday. Today
// counts as well.
func daysUntil(name string, now time.Time) (int, bool) {
	for days := range 7 {
		day := now.AddDate(0, 0, days).Weekday().String()
		if strings.EqualFold(name, day) || strings.EqualFold(name, day[:3]) {
			return days, true
		}
	}
	return 0, false
}

// onDay returns a time of day on the day that is the given number of calendar days after now.
func onDay(now time.Time, days int, clock string) (time.Time, bool) {
	for _, form := range []string{"15:04", "15:04:05"} {
		if t, err := time.Parse(form, strings.TrimSpace(clock)); err == nil {
			y, m, d := now.Date()
			return time.Date(y, m, d+days, t.Hour(), t.Minute(), t.Second(), 0, now.Location()), true
		}
	}
	return time.Time{}, false
}

func dateOf(s string, now time.Time) (time.Time, bool) {
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at, true
	}
	for _, form := range dateForms {
		if at, err := time.ParseInLocation(form, s, now.Location()); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
