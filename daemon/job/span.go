package job

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Span is a length of time. JSON documents give it in seconds.
type Span time.Duration

// Duration returns the span as the standard library has it.
func (s Span) Duration() time.Duration { return time.Duration(s) }

// String prints the span the way ParseDuration reads it.
func (s Span) String() string { return FormatDuration(time.Duration(s)) }

// Ceil returns the span in whole seconds, rounded up: one below a second is not none.
// What is out of range stays out of range.
func (s Span) Ceil() Span {
	if rest := s % Span(time.Second); rest > 0 && s < Span(MaxDuration) {
		return s - rest + Span(time.Second)
	}
	return s
}

// Floor returns the span in whole seconds, rounded down.
func (s Span) Floor() Span { return s - s%Span(time.Second) }

// MarshalJSON writes seconds, with decimals only where there is part of one.
func (s Span) MarshalJSON() ([]byte, error) {
	whole, rest := int64(s)/int64(time.Second), int64(s)%int64(time.Second)
	if rest == 0 {
		return strconv.AppendInt(nil, whole, 10), nil
	}
	sign := ""
	if s < 0 {
		sign, whole, rest = "-", -whole, -rest
	}
	return []byte(sign + strings.TrimRight(fmt.Sprintf("%d.%09d", whole, rest), "0")), nil
}

// UnmarshalJSON reads seconds. What is out of range stays out of range.
func (s *Span) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil && max(n, -n) > int64(MaxDuration/time.Second) {
		*s = math.MaxInt64
		if n < 0 {
			*s = -1
		}
		return nil
	}
	d, err := time.ParseDuration(string(text) + "s")
	if err != nil {
		return errors.New("a length of time is a number of seconds") // the text may be megabytes
	}
	*s = Span(d)
	return nil
}
