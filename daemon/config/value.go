package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// value reads and writes one setting of a Config.
type value interface {
	parse(raw any) error // from what TOML made of it; leaves the Config alone on error
	check() error        // what is wrong with the value as it is
	spell() string       // the way a file writes it
	schema() shape
}

// shape is what the schema and the manual say of a value besides its meaning.
type shape struct {
	Type    string // of JSON Schema
	Form    string // for people: "a duration"
	Enum    []string
	Min     *int // of numbers
	Max     *int
	Pattern string
	Word    string // pattern of the texts that are allowed besides Type
	Items   *shape
}

// Bounds of durations.
const (
	tenth   = 100 * time.Millisecond
	second  = time.Second
	minute  = time.Minute
	hour    = time.Hour
	day     = 24 * time.Hour
	longest = job.MaxDuration
)

// durationValue is a duration with bounds; none allows the empty text, 0.
type durationValue struct {
	to     *time.Duration
	lo, hi time.Duration
	none   bool
}

func timeBetween(to *time.Duration, lo, hi time.Duration) value {
	return durationValue{to: to, lo: lo, hi: hi}
}

func timeOrNone(to *time.Duration, lo, hi time.Duration) value {
	return durationValue{to: to, lo: lo, hi: hi, none: true}
}

func (v durationValue) parse(raw any) error {
	s, err := text(raw, `"30s"`)
	if err != nil {
		return err
	}
	var d time.Duration
	if s != "" || !v.none {
		d, err = job.ParseDuration(s)
		if err != nil && v.none {
			return fmt.Errorf(`%w, or "" for none`, err)
		}
		if err != nil {
			return err
		}
	}
	return assign(durationValue{&d, v.lo, v.hi, v.none}, v.to, d)
}

func (v durationValue) check() error {
	if *v.to == 0 && v.none {
		return nil
	}
	if *v.to < v.lo || *v.to > v.hi {
		return fmt.Errorf("%s is out of range: use %s to %s", spellDuration(*v.to), spellDuration(v.lo), spellDuration(v.hi))
	}
	return nil
}

func (v durationValue) spell() string {
	if *v.to == 0 {
		return `""`
	}
	return strconv.Quote(spellDuration(*v.to))
}

func (v durationValue) schema() shape {
	form := fmt.Sprintf("a duration from %s to %s", spellDuration(v.lo), spellDuration(v.hi))
	if v.none {
		form += ", or empty"
	}
	return shape{Type: "string", Form: form}
}

// spellDuration prints a duration exactly, without the zero parts.
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

// numberValue is a whole number with bounds; with none, 0 is spelled none.
type numberValue struct {
	to     *int
	lo, hi int
	none   bool
}

func numberBetween(to *int, lo, hi int) value { return numberValue{to: to, lo: lo, hi: hi} }
func numberOrNone(to *int, lo, hi int) value {
	return numberValue{to: to, lo: lo, hi: hi, none: true}
}

func (v numberValue) parse(raw any) error {
	if raw == "none" && v.none {
		*v.to = 0
		return nil
	}
	n, ok := raw.(int64)
	switch {
	case !ok && v.none:
		return wrongType(`a whole number without quotes, or "none"`, raw)
	case !ok:
		return wrongType("a whole number without quotes", raw)
	case n < int64(v.lo) || n > int64(v.hi):
		return v.outOfRange(n)
	}
	*v.to = int(n)
	return nil
}

func (v numberValue) check() error {
	if (*v.to < v.lo || *v.to > v.hi) && (*v.to != 0 || !v.none) {
		return v.outOfRange(int64(*v.to))
	}
	return nil
}

func (v numberValue) outOfRange(n int64) error {
	if v.none {
		return fmt.Errorf(`%d is out of range: use %d to %d, or "none" for no bound`, n, v.lo, v.hi)
	}
	return fmt.Errorf("%d is out of range: use %d to %d", n, v.lo, v.hi)
}

func (v numberValue) spell() string {
	if *v.to == 0 && v.none {
		return `"none"`
	}
	return strconv.Itoa(*v.to)
}

func (v numberValue) schema() shape {
	sh := shape{Type: "integer", Form: fmt.Sprintf("a number from %d to %d", v.lo, v.hi), Min: &v.lo, Max: &v.hi}
	if v.none {
		sh.Form, sh.Word = sh.Form+", or none", "^none$"
	}
	return sh
}

// switchValue is true or false.
type switchValue struct{ to *bool }

func (v switchValue) parse(raw any) error {
	b, ok := raw.(bool)
	if !ok {
		return wrongType("true or false without quotes", raw)
	}
	*v.to = b
	return nil
}

func (v switchValue) check() error  { return nil }
func (v switchValue) spell() string { return strconv.FormatBool(*v.to) }
func (v switchValue) schema() shape { return shape{Type: "boolean", Form: "true or false"} }

// assign stores a value once its copy has passed the check.
func assign[T any](candidate interface{ check() error }, to *T, v T) error {
	if err := candidate.check(); err != nil {
		return err
	}
	*to = v
	return nil
}

// text wants a TOML string; example shows how one looks.
func text(raw any, example string) (string, error) {
	s, ok := raw.(string)
	if !ok {
		return "", wrongType("text in quotes such as "+example, raw)
	}
	return s, nil
}

func wrongType(want string, raw any) error {
	got := "a date or time"
	switch raw.(type) {
	case string:
		got = "text in quotes"
	case int64:
		got = "a number"
	case float64:
		got = "a number with a fraction"
	case bool:
		got = "true or false"
	case []any:
		got = "a list"
	case map[string]any:
		got = "a section"
	}
	return fmt.Errorf("must be %s, not %s", want, got)
}
