package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Zone is the client's time zone during a window, as a list of offsets from UTC. The daemon
// itself uses only UTC, so the client sends its zone with the query.
type Zone []Shift

// A Shift is an offset from UTC in seconds, and the time from which it applies.
type Shift struct {
	From   int64 // Unix seconds; ignored in the first Shift
	Offset int64
}

// maxShifts is the maximum number of shifts of a Zone. No real zone has so many in the longest
// window.
const maxShifts = 200

// ZoneOf returns the zone loc during a window.
func ZoneOf(loc *time.Location, from, to time.Time) (z Zone) {
	for at := from; len(z) < maxShifts; {
		_, offset := at.In(loc).Zone()
		z = append(z, Shift{From: at.Unix(), Offset: int64(offset)})
		_, next := at.In(loc).ZoneBounds()
		if next.IsZero() || !next.Before(to) {
			return z
		}
		at = next
	}
	return z
}

// String returns the zone in the form that a request has: "3600", or "3600;1774746000:7200".
func (z Zone) String() string {
	var b strings.Builder
	for i, s := range z {
		if i > 0 {
			fmt.Fprintf(&b, ";%d:", s.From)
		}
		fmt.Fprint(&b, s.Offset)
	}
	return b.String()
}

// ParseZone parses the text that String returns. "" is UTC.
func ParseZone(text string) (z Zone, err error) {
	if text == "" {
		return nil, nil
	}
	last := int64(-1 << 62)
	for i, part := range strings.Split(text, ";") {
		var s Shift
		offset := part
		if i > 0 {
			from, rest, _ := strings.Cut(part, ":")
			offset = rest
			s.From, err = strconv.ParseInt(from, 10, 62)
		}
		if err == nil {
			s.Offset, err = strconv.ParseInt(offset, 10, 32)
		}
		if err != nil || s.Offset < -86400 || s.Offset > 86400 || i > 0 && s.From <= last || i == maxShifts {
			return nil, fmt.Errorf("%q is not a zone such as 3600 or 3600;1774746000:7200", text)
		}
		if i > 0 {
			last = s.From
		}
		z = append(z, s)
	}
	return z, nil
}

// localTime returns the time that a local clock shows, as a time in UTC.
func (z Zone) localTime(at time.Time) time.Time {
	offset := int64(0)
	for i, s := range z {
		if i == 0 || at.Unix() >= s.From {
			offset = s.Offset
		}
	}
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// instant returns the first moment at which the local clock shows this time or a later one.
func (z Zone) instant(local time.Time) time.Time {
	for i, s := range z {
		at := local.Unix() - s.Offset
		if i > 0 {
			at = max(at, s.From)
		}
		if i == len(z)-1 || at < z[i+1].From {
			return time.Unix(at, 0).UTC()
		}
	}
	return local
}

// A Period is a unit of the calendar: a day, a week or a month.
type Period string

// The periods. Weeks begin on Monday.
const (
	Day   Period = "day"
	Week  Period = "week"
	Month Period = "month"
)

// begin returns the first midnight of the period that contains a local time.
func (p Period) begin(local time.Time) time.Time {
	y, m, d := local.Date()
	switch p {
	case Week:
		d -= (int(local.Weekday()) + 6) % 7
	case Month:
		d = 1
	}
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// next returns the first midnight after a period. The argument start is the period's first
// midnight.
func (p Period) next(start time.Time) time.Time {
	switch p {
	case Week:
		return start.AddDate(0, 0, 7)
	case Month:
		return start.AddDate(0, 1, 0)
	}
	return start.AddDate(0, 0, 1)
}

// A span is a half-open interval of time.
type span struct {
	from, to time.Time
	label    string // the first day of the span's period
}

// cut divides a window at the beginnings of the periods.
func (z Zone) cut(from, to time.Time, p Period) (spans []span) {
	for begin := p.begin(z.localTime(from)); from.Before(to) && len(spans) <= maxRows; {
		label := begin.Format(time.DateOnly)
		begin = p.next(begin)
		end := z.instant(begin)
		if end.After(to) {
			end = to
		}
		if end.After(from) {
			spans = append(spans, span{from, end, label})
			from = end
		}
	}
	return spans
}

// Begin returns the beginning of the period that contains the time t.
func (z Zone) Begin(t time.Time, p Period) time.Time { return z.instant(p.begin(z.localTime(t))) }
