package client

import (
	"strings"
	"testing"
	"time"
)

func TestMomentsAreLocalAndAhead(t *testing.T) {
	zone := time.FixedZone("here", 2*3600)
	now := time.Date(2026, 11, 21, 20, 30, 0, 0, zone)
	for in, want := range map[string]string{
		"now":                       "0001-01-01T00:00:00Z",
		"22:00":                     "2026-11-21T22:00:00+02:00",
		"22:00:30":                  "2026-11-21T22:00:30+02:00",
		"8:00":                      "2026-11-22T08:00:00+02:00",
		"20:30":                     "2026-11-21T20:30:00+02:00",
		"20:29":                     "2026-11-22T20:29:00+02:00",
		"tomorrow":                  "2026-11-22T00:00:00+02:00",
		"tomorrow 22:00":            "2026-11-22T22:00:00+02:00",
		"today 23:00":               "2026-11-21T23:00:00+02:00",
		"+2h":                       "2026-11-21T22:30:00+02:00",
		"+1-12":                     "2026-11-23T08:30:00+02:00",
		"2026-12-01":                "2026-12-01T00:00:00+02:00",
		"2026-12-01T08:00":          "2026-12-01T08:00:00+02:00",
		"2026-12-01 08:00:05":       "2026-12-01T08:00:05+02:00",
		"2026-12-01T08:00:00Z":      "2026-12-01T08:00:00Z",
		"2026-12-01T08:00:00-05:00": "2026-12-01T08:00:00-05:00",
	} {
		at, err := parseMoment(in, now)
		if got := at.Format(time.RFC3339); err != nil || got != want {
			t.Errorf("%q is %s, %v, want %s", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"":                     "not a time",
		"noon":                 "not a time",
		"25:00":                "not a time",
		"8":                    "not a time",
		"+":                    "not a time",
		"+-2h":                 "not a time",
		"tomorrow at 8":        "not a time",
		"today":                "not a time",
		"2026-11-21T08:00":     "is past: it is 2026-11-21T20:30 now",
		"2026-11-20":           "is past",
		"today 8:00":           "is past",
		"2026-11-21T18:29:59Z": "is past",
		"2050-01-01":           "10 years ahead",
	} {
		if at, err := parseMoment(in, now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %s, %v, want an error with %q", in, at, err, want)
		}
	}
}

// A day is not always 24 hours long.
func TestTomorrowIsOnTheCalendar(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at, err := parseMoment("8:00", time.Date(2026, 3, 28, 9, 0, 0, 0, berlin))
	if got := at.Format(time.RFC3339); err != nil || got != "2026-03-29T08:00:00+02:00" {
		t.Errorf("8:00 is %s, %v", got, err)
	}
}
