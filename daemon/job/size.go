package job

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// sizeUnits are powers of 1024, as memory sizes are everywhere in systemd and
// NVML. A number without a unit is bytes.
var sizeUnits = map[string]float64{
	"": 1, "B": 1,
	"K": 1 << 10, "KB": 1 << 10, "KIB": 1 << 10,
	"M": 1 << 20, "MB": 1 << 20, "MIB": 1 << 20,
	"G": 1 << 30, "GB": 1 << 30, "GIB": 1 << 30,
	"T": 1 << 40, "TB": 1 << 40, "TIB": 1 << 40,
}

// MaxSize is the largest size that can be asked for: 1 PiB.
const MaxSize = int64(1) << 50

// ParseSize reads a size such as 20G, 512M, 1.5T or 1073741824 and returns
// bytes, above 0.
func ParseSize(s string) (int64, error) {
	i := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	num, unit := s, ""
	if i >= 0 {
		num, unit = s[:i], strings.ToUpper(strings.TrimSpace(s[i:]))
	}
	scale, known := sizeUnits[unit]
	v, err := strconv.ParseFloat(num, 64)
	if err != nil || !known {
		return 0, fmt.Errorf("%q is not a size: use a number with K, M, G or T, such as 20G", s)
	}
	bytes := v * scale
	if bytes < 1 || bytes > float64(MaxSize) {
		return 0, fmt.Errorf("size %q is out of range: use 1 byte to 1024T", s)
	}
	return int64(bytes), nil
}

// FormatSize prints bytes with one decimal at most, such as "20G" or "1.5G".
func FormatSize(n int64) string {
	units := []struct {
		name string
		size int64
	}{{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}}
	for _, u := range units {
		if n >= u.size {
			v := math.Floor(float64(n)/float64(u.size)*10) / 10
			return strconv.FormatFloat(v, 'f', -1, 64) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// MaxDuration is the longest time that can be asked for: 10 years.
const MaxDuration = 10 * 365 * 24 * time.Hour

// ParseDuration reads 90s, 2h, 1h30m, 2d, 600 (seconds), 10:00 (minutes and
// seconds), 2:00:00, and 1-12 or 1-12:30:00 (days and hours) as Slurm does.
func ParseDuration(s string) (time.Duration, error) {
	d, ok := parseClock(s)
	if !ok {
		d, ok = parseUnits(s)
	}
	if !ok || d <= 0 || d > MaxDuration {
		return 0, fmt.Errorf("%q is not a duration: use 90s, 2h, 1-12 (days-hours) or 2:00:00", s)
	}
	return d, nil
}

// FormatDuration prints a duration in units that are not zero, such as "1h",
// "2h30m" or "1d2h".
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

// parseUnits reads the forms with unit letters and plain seconds.
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
	d, err := time.ParseDuration(s)
	return days + d, err == nil && d >= 0
}

// parseClock reads the forms with colons and the days-hours form.
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
