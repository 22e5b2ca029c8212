package cli

import (
	"testing"
	"time"
)

// Past times use the caller's time zone and calendar. That also works across clock changes: in the
// zone of this test the clock went from 2:00 to 3:00 on 2026-03-29, and from 3:00 to 2:00 on
// 2026-10-25.
func TestPastTimesGoByTheLocalCalendar(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 31, 20, 30, 0, 0, zone) // a Tuesday
	for in, want := range map[string]string{
		"now":                  "2026-03-31T20:30:00+02:00",
		"today":                "2026-03-31T00:00:00+02:00",
		"Yesterday":            "2026-03-30T00:00:00+02:00",
		"week":                 "2026-03-30T00:00:00+02:00",
		"monday":               "2026-03-30T00:00:00+02:00",
		"tue":                  "2026-03-31T00:00:00+02:00",
		"wednesday":            "2026-03-25T00:00:00+01:00",
		"sun":                  "2026-03-29T00:00:00+01:00",
		"month":                "2026-03-01T00:00:00+01:00",
		"year":                 "2026-01-01T00:00:00+01:00",
		"7d":                   "2026-03-24T19:30:00+01:00", // 7 times 24 hours, not calendar days
		"now-2hours":           "2026-03-31T18:30:00+02:00",
		"90m ago":              "2026-03-31T19:00:00+02:00",
		"2026-03-29":           "2026-03-29T00:00:00+01:00",
		"2026-03-29 8:00":      "2026-03-29T08:00:00+02:00",
		"2026-03-29 08:00":     "2026-03-29T08:00:00+02:00",
		"2026-03-01T08:00:00Z": "2026-03-01T08:00:00Z",
		"8:15":                 "2026-03-31T08:15:00+02:00",
		"":                     "", "-3d": "", "lately": "", "mo": "", "2026-13-01": "",
	} {
		at, err := parsePast(in, now)
		if got := at.Format(time.RFC3339); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q is %s, %v, want %q", in, got, err, want)
		}
	}
	first, _ := parsePast("today", time.Date(2026, 10, 25, 20, 0, 0, 0, zone))
	next, _ := parsePast("today", time.Date(2026, 10, 26, 20, 0, 0, 0, zone))
	if long := next.Sub(first); long != 25*time.Hour {
		t.Errorf("the day on which the clock is set back has %s", long)
	}
}
