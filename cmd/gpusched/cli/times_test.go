package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/job"
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
		"Sun 6:00":                  "2026-11-22T06:00:00+02:00",
		"saturday 20:30":            "2026-11-21T20:30:00+02:00",
		"Sat 20:29":                 "2026-11-28T20:29:00+02:00",
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
		"Sun":                  "not a time",
		"Sund 6:00":            "not a time",
		"Sun 6":                "not a time",
		"2026-11-21T08:00":     "is in the past: it is 2026-11-21T20:30 now",
		"2026-11-20":           "is in the past",
		"today 8:00":           "is in the past",
		"2026-11-21T18:29:59Z": "is in the past",
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

func FuzzMoment(f *testing.F) {
	for _, seed := range []string{
		"now", "22:00", "22:00:30", "tomorrow", "tomorrow 8:00", "today 23:59", "+2h", "2026-11-22", "2026-11-22T08:00", "2026-11-22 08:00:00",
		"2026-11-22T08:00:00+14:00", "9999-12-31T23:59:59-12:00", "+-1h", "24:00", " 9:00 ", "",
	} {
		f.Add(seed, int64(1_790_000_000))
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		now := time.Unix(unix%(1<<35), 0).UTC()
		at, err := parseMoment(text, now)
		if err != nil || text == "now" {
			return
		}
		if at.Before(now) || at.After(now.Add(job.MaxDuration)) {
			t.Fatalf("%q at %s is %s", text, now, at)
		}
		if year := at.UTC().Year(); year < 1970 || year > 2999 {
			return
		}
		if err := (&job.Change{Begin: &at}).Err(); err != nil {
			t.Fatalf("%q is taken here and refused there: %v", text, err)
		}
	})
}

// FuzzValues tests this package's parsers of option values.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{"1", "1%", "100%", "0.8", "1.0", "101", "0.005", "USR1@60s", "9@1", "KILL@", "@5", "none", "2h", "k=v", "=v", "kill"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := parsePercent(text); err == nil && (p < 1 || p > 100) {
			t.Errorf("%q is %d%%", text, p)
		}
		if w, err := parseWarning(text); err == nil && (w.Signal < 1 || w.Signal > 64 || w.Before <= 0) {
			t.Errorf("%q is %+v", text, w)
		}
		if s, err := parseSpanOrNone(text); err == nil && (s == 0) != (text == "none") {
			t.Errorf("%q is %d", text, s)
		}
		if list, err := tasksOf("7", text); err == nil && (len(list) < 1 || len(list) > maxTaskRange) {
			t.Errorf("%q is %d tasks", text, len(list))
		}
		name := PrintableName(text)
		named := job.Submission{Label: job.Label{Name: name}}
		if named.Validate() == nil || !job.Printable(name) || name == "" || len(name) > job.MaxNameBytes {
			t.Errorf("%q is called %q", text, name)
		}
		if !job.Printable(term.Clean(strings.Map(func(r rune) rune {
			if job.Printable(string(r)) || r < ' ' {
				return r
			}
			return -1
		}, text))) {
			t.Errorf("%q is shown as %q", text, term.Clean(text))
		}
	})
}
