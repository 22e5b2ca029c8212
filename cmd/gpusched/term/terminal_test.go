package term

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Times in sentences are local. If the text may be read on another day, they have the date. Text
// that a user typed is unchanged, even if it resembles a time or the name of a job.
func TestTimesInSentences(t *testing.T) {
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 3, day, hour, minute, 0, 0, time.UTC) }
	reserved := job.Reason{Code: job.ReasonGPUReserved, Detail: job.Say("detail/reservation", "x", at(1, 23, 30), at(9, 0, 0))}
	for _, c := range []struct {
		said job.Message
		want string
	}{
		{job.Say("detail/at", at(1, 21, 0)), "22:00"},
		{job.Say("detail/gpu-is", 1, reserved), "GPU 1 is reserved (for x from 2026-03-02 00:30 to 2026-03-09 01:00)"},
		{job.Say("detail/withheld-until", "drained", "ann", "since job 12 crashed at 2026-03-01 21:00:00 UTC", at(1, 21, 0)),
			"drained by ann (since job 12 crashed at 2026-03-01 21:00:00 UTC) until 22:00"},
	} {
		out := &Terminal{TTY: true}
		out.Now = at(1, 12, 0).In(time.FixedZone("CET", 3600))
		text, err := json.Marshal(c.said)
		var sent job.Message
		if err == nil {
			err = json.Unmarshal(text, &sent)
		}
		if got := out.Reader().Say(sent); got != c.want || err != nil {
			t.Errorf("%q, want %q (%v)", got, c.want, err)
		}
		out.TTY = false
		want := strings.Replace(c.want, " 22:00", " 2026-03-01 22:00", 1)
		if got := out.Reader().Say(c.said); c.want != "22:00" && got != want {
			t.Errorf("%q in a pipe", got)
		}
	}
}

// No cell of the csv output looks like a formula to a spreadsheet.
func TestNoCellIsAFormula(t *testing.T) {
	for cell, want := range map[string]string{
		"=cmd()": "'=cmd()", "+1": "'+1", "@a": "'@a", "-x": "'-x", "\tx": "'\tx", "\rx": "'\rx", "-5": "-5", "-1.5": "-1.5", "-1+2": "'-1+2", "": "", "a=b": "a=b", "7_3": "7_3",
	} {
		if got := withoutFormula(cell); got != want {
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

// A moment is shown in local time, and with the date. On a terminal, today's date is left out, and
// a sentence says how long ago the moment is.
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
		{pipe.Expected(start), "2026-03-01 03:44"},
		{tty.Clock(time.Time{}) + tty.Moment(time.Time{}) + tty.Run(time.Time{}, now) + tty.Expected(time.Time{}), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
