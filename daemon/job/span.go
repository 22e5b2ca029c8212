package job

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Span is a duration. In JSON it is a number of seconds.
type Span time.Duration

// Duration returns the span as a time.Duration.
func (s Span) Duration() time.Duration { return time.Duration(s) }

// String prints the span as ParseDuration reads it.
func (s Span) String() string { return FormatDuration(time.Duration(s)) }

// Ceil returns the span rounded up to whole seconds, so that a span below a second does not become
// 0. An invalid span stays out of range.
func (s Span) Ceil() Span {
	if rest := s % Span(time.Second); rest > 0 && s < Span(MaxDuration) {
		return s - rest + Span(time.Second)
	}
	return s
}

// Floor returns the span rounded down to whole seconds.
func (s Span) Floor() Span { return s - s%Span(time.Second) }

// MarshalJSON returns seconds. It adds decimals only for a fraction of a second.
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

// UnmarshalJSON reads seconds. A value out of range stays out of range.
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
		return errors.New("a duration must be a number of seconds") // not quoted: the text may be megabytes long
	}
	*s = Span(d)
	return nil
}
