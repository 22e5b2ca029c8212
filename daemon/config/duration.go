package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Limits of durations.
const (
	tenth   = 100 * time.Millisecond
	second  = time.Second
	minute  = time.Minute
	hour    = time.Hour
	day     = 24 * time.Hour
	longest = job.MaxDuration
)

// timeBetween returns a setting that is a duration between two limits.
func timeBetween(to *time.Duration, lo, hi time.Duration) value {
	return durationValue(to, lo, hi, false)
}

// timeOrNone returns a setting that is a duration between two limits, or 0. In a file, 0 is the
// empty text.
func timeOrNone(to *time.Duration, lo, hi time.Duration) value {
	return durationValue(to, lo, hi, true)
}

func durationValue(to *time.Duration, lo, hi time.Duration, none bool) value {
	bounds := spellDuration(lo) + " to " + spellDuration(hi)
	form := "a duration from " + bounds
	if none {
		form += ", or empty"
	}
	read := func(s string) (time.Duration, error) {
		if s == "" && none {
			return 0, nil
		}
		d, err := job.ParseDuration(s)
		if err != nil && none {
			err = fmt.Errorf(`%w, or "" for none`, err)
		}
		return d, err
	}
	wrong := func(d time.Duration) error {
		if (d < lo || d > hi) && (d != 0 || !none) {
			return fmt.Errorf("%s is out of range: use %s", spellDuration(d), bounds)
		}
		return nil
	}
	write := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return spellDuration(d)
	}
	return setting[time.Duration]{to, fromText(`"30s"`, read), wrong, quotingWriter(write), shape{Type: "string", Form: form}}
}

// spellDuration prints a duration exactly, without zero parts.
func spellDuration(d time.Duration) string {
	days := ""
	if d >= 2*day {
		days, d = strconv.FormatInt(int64(d/day), 10)+"d", d%day
		if d == 0 {
			return days
		}
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return days + s
}
