package job

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxDuration is the longest time that a user can ask for: 10 years.
const MaxDuration = 10 * 365 * 24 * time.Hour

// unitWords shortens the names of time units that systemd knows, the longest name first.
var unitWords = strings.NewReplacer("seconds", "s", "second", "s", "sec", "s",
	"minutes", "m", "minute", "m", "mins", "m", "min", "m", "hours", "h", "hour", "h", "hr", "h", "days", "d", "day", "d")

// ParseDuration reads 90s, 2h, 1h30m, 2d, 90min, 2hours, 600 (seconds; below 60 the unit is
// required), 10:00 (minutes and seconds), 2:00:00, and 1-12 or 1-12:30:00 (days and hours) as Slurm
// does. No part may have a sign. The result is above 0 and at most MaxDuration.
func ParseDuration(s string) (time.Duration, error) {
	if n, err := strconv.ParseUint(s, 10, 8); err == nil && n > 0 && n < 60 {
		return 0, fmt.Errorf("%[1]s has no unit; write %[1]ss or %[1]sm", s)
	}
	d, ok := parseClock(s)
	if !ok {
		d, ok = parseUnits(unitWords.Replace(s))
	}
	digits := strings.TrimLeft(s, "0123456789")
	tooLong := !ok && len(digits) < len(s) && len(digits) == 1 && strings.Contains("dhms", digits)
	switch {
	case tooLong, ok && (d <= 0 || d > MaxDuration):
		return 0, fmt.Errorf("%q is out of range: use more than 0 and at most %s", s, FormatDuration(MaxDuration))
	case !ok:
		return 0, fmt.Errorf("%q is not a duration: use 90s, 2h, 1-12 (days-hours) or 2:00:00", s)
	}
	return d, nil
}

// FormatDuration prints a duration without units that are zero, such as "1h", "2h30m" or "1d2h".
// From one second on, it omits fractions of a second.
func FormatDuration(d time.Duration) string {
	if d < time.Second {
		return d.String()
	}
	text := ""
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}} {
		if n := d / u.size; n > 0 {
			text += strconv.FormatInt(int64(n), 10) + u.name
			d -= n * u.size
		}
	}
	return text
}

// parseUnits reads the forms with unit letters, and plain numbers of seconds.
func parseUnits(s string) (time.Duration, bool) {
	if n, err := strconv.ParseUint(s, 10, 32); err == nil {
		return time.Duration(n) * time.Second, true
	}
	var days time.Duration
	if head, tail, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(head, 10, 16)
		if err != nil {
			return 0, false
		}
		days = time.Duration(n) * 24 * time.Hour
		if tail == "" {
			return days, true
		}
		s = tail
	}
	if s == "" || s[0] < '0' || s[0] > '9' || s == "0" { // the text begins with a sign, or is a number without a unit
		return 0, false
	}
	d, err := time.ParseDuration(s)
	return days + d, err == nil && d >= 0
}

// parseClock reads the forms with colons, and the form of days and hours.
func parseClock(s string) (time.Duration, bool) {
	head, tail, hasDays := strings.Cut(s, "-")
	var days uint64
	if hasDays {
		var err error
		if days, err = strconv.ParseUint(head, 10, 16); err != nil {
			return 0, false
		}
		s = tail
	}
	parts := strings.Split(s, ":")
	if len(parts) > 3 || (!hasDays && len(parts) == 1) {
		return 0, false
	}
	units := []time.Duration{time.Hour, time.Minute, time.Second}
	if !hasDays && len(parts) == 2 {
		units = units[1:]
	}
	total := time.Duration(days) * 24 * time.Hour
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return 0, false
		}
		total += time.Duration(n) * units[i]
	}
	return total, true
}
