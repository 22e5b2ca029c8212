package term

import (
	"strings"
	"testing"
	"time"
)

// A sentence of the daemon's has the reader's own time, as all times that people read, and the date where it may be
// read another day.
func TestTimesInSentences(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	for sentence, want := range map[string]string{
		"not to begin before 2026-03-01 21:00:00 UTC":                   "not to begin before 22:00",
		"for x from 2026-03-01 23:30:00 UTC to 2026-03-09 00:00:00 UTC": "for x from 2026-03-02 00:30 to 2026-03-09 01:00",
		"at 2026-99-01 21:00:00 UTC":                                    "at 2026-99-01 21:00:00 UTC",
	} {
		out := &Terminal{TTY: true}
		out.Now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).In(berlin)
		if got := out.Local(sentence); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		out.TTY = false
		if got := out.Local(sentence); got != strings.Replace(want, " 22:00", " 2026-03-01 22:00", 1) {
			t.Errorf("%q in a pipe", got)
		}
	}
}

// A cell of CSV is no formula for the program that reads it.
func TestCellsAreNoFormulas(t *testing.T) {
	for cell, want := range map[string]string{
		"=cmd()": "'=cmd()", "+1": "'+1", "@a": "'@a", "-x": "'-x", "\tx": "'\tx", "\rx": "'\rx", "-5": "-5", "-1.5": "-1.5", "-1+2": "'-1+2", "": "", "a=b": "a=b", "7_3": "7_3",
	} {
		if got := defused(cell); got != want {
			t.Errorf("%q is %q, want %q", cell, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"größer", 5, "größ…"}, {"日本語", 6, "日本語"}, {"日本語", 5, "日本…"},
		{"日本語", 4, "日…"}, {"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
	} {
		if got := Cut(c.in, c.n); got != c.want || Columns(got) > c.n {
			t.Errorf("cut(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 0: "0s", 59 * time.Second: "59s", time.Minute: "1m", 59*time.Minute + 59*time.Second: "59m",
		time.Hour: "1h", 3*time.Hour + 12*time.Minute: "3h12m", 24 * time.Hour: "1d", 52 * time.Hour: "2d4h",
	} {
		if got := Age(d); got != want {
			t.Errorf("age(%s) = %s, want %s", d, got, want)
		}
	}
}

// A moment has the local time, the date where that is not today or the text may be read another day, and on a
// terminal, in a sentence, how long ago that is.
func TestTheRuleForTimes(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, berlin)
	tty, pipe := &Terminal{TTY: true, Now: now}, &Terminal{Now: now}
	start := time.Date(2026, 3, 1, 2, 44, 0, 0, time.UTC)
	for _, c := range []struct{ got, want string }{
		{tty.Clock(now.Add(-time.Hour).UTC()), "11:00"},
		{tty.Clock(start), "2026-03-01 03:44"},
		{tty.Moment(start), "2026-03-01 03:44 (3d8h ago)"},
		{tty.Moment(now.Add(90 * time.Minute)), "13:30 (in 1h30m)"},
		{tty.Moment(now), "12:00 (0s ago)"},
		{tty.Run(start, start.Add(9*time.Hour+12*time.Minute)), "2026-03-01 03:44 (3d8h ago), ran 9h12m"},
		{tty.Run(now.Add(-time.Hour), time.Time{}), "11:00 (1h ago)"},
		{tty.About(now.Add(20 * time.Second)), "in a moment"},
		{tty.About(now.Add(2 * time.Hour)), "about 14:00 (in 2h)"},
		{tty.Expected(now.Add(2 * time.Hour)), "14:00"},
		{tty.Expected(now.Add(-time.Hour)), "soon"},
		{pipe.Clock(start.In(berlin)), "2026-03-01 03:44"},
		{pipe.Moment(start.In(berlin)), "2026-03-01 03:44"},
		{pipe.Run(start, start.Add(time.Hour)), "2026-03-01 03:44, ran 1h"},
		{pipe.About(start), "about 2026-03-01 03:44"},
		{pipe.Clock(now), "2026-03-04 12:00"},
		{pipe.Local("until 2026-03-01 02:44:00 UTC, then reserved"), "until 2026-03-01 03:44, then reserved"},
		{pipe.Expected(start), "2026-03-01 03:44"},
		{tty.Clock(time.Time{}) + tty.Moment(time.Time{}) + tty.Run(time.Time{}, now) + tty.Expected(time.Time{}), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
