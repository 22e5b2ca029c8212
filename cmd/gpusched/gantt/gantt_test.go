package gantt

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// span returns a job's span. Its times are minutes after noon; an end of 0 is unknown.
func span(id job.ID, kind job.StayKind, from, until, late int) job.Stay {
	at := func(m int) time.Time {
		if m == 0 {
			return time.Time{}
		}
		return noon.Add(time.Duration(m) * time.Minute)
	}
	s := job.Stay{Kind: kind, Job: id, Milli: 1000, From: noon.Add(time.Duration(from) * time.Minute), Until: at(until), Late: at(late)}
	if id > 0 {
		s.Called = id.String()
	}
	return s
}

// machine returns GPUs that together have every kind of span.
func machine() []job.GPUCourse {
	part := span(21, job.StayRunning, -10, 30, 30)
	next := span(22, job.StayPlanned, 30, 110, 110)
	other := span(23, job.StayRunning, -5, 60, 80)
	part.Milli, next.Milli, other.Milli = 500, 500, 250
	return []job.GPUCourse{
		{Index: 0, Stays: []job.Stay{span(12, job.StayRunning, -60, 45, 90), span(15, job.StayPlanned, 60, 150, 150)}},
		{Index: 1, Stays: []job.Stay{span(13, job.StayRunning, -60, 0, 0), span(0, job.StayReserved, 120, 160, 160)}},
		{Index: 2, Stays: []job.Stay{part, other, next}},
		{Index: 3, Stays: []job.Stay{span(0, job.StayDrained, 0, 100, 100), span(16, job.StayPlanned, 100, 0, 170)}},
		{Index: 10, Stays: []job.Stay{span(0, job.StayUnknown, 0, 0, 0)}},
		{Index: 11},
	}
}

func draw(p Picture) string {
	p.From, p.Until = noon, noon.Add(3*time.Hour)
	p.Paint = func(s term.Style, text string) string { return text }
	drawn := p.Draw(machine())
	return "\n" + strings.Join(append(drawn, p.Key(drawn)), "\n") + "\n"
}

// Every kind of span is drawn with the right character on each kind of terminal.
func TestPicture(t *testing.T) {
	for _, test := range []struct {
		p    Picture
		want string
	}{
		{Picture{Width: 80, Job: 15}, `
       ╷12:00      ╷12:30      ╷13:00      ╷13:30      ╷14:00      ╷14:30
GPU 0  ━12━━━━━━━━━━━━━━━┄┄┄┄┄┄█15█████████████████████████████████
GPU 1  ━13?????????????????????????????????????????????╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱?????????
GPU 2  ━21━━━━━━━━━├22─────────────────────────────
       ━23━━━━━━━━━━━━━━━━━━━━━┄┄┄┄┄┄┄┄
GPU 3  ××××××××××××××××××××××××××××××××××××××××├16┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄
GPU 10 ?????????????????????????????????????????????????????????????????????????
GPU 11
██ job 15  ━━ runs  ── planned  ┄┄ perhaps  ╱╱ reserved  ×× drained  ?? unknown
`},
		{Picture{Width: 60, ASCII: true}, `
       |12:00  |12:30   |13:00   |13:30   |14:00   |14:30
GPU 0  =12==========....|15------------------------
GPU 1  =13????????????????????????????????////////////??????
GPU 2  =21=====|22---------------------
       =23==============......
GPU 3  xxxxxxxxxxxxxxxxxxxxxxxxxxxxx|16..................
GPU 10 ?????????????????????????????????????????????????????
GPU 11
== runs  -- planned  .. perhaps  // reserved  xx drained  ?? unknown
`},
	} {
		if got := draw(test.p); got != test.want {
			t.Errorf("%s", got)
		}
	}
}

// However narrow the picture is, every line fits and has no blank at its end.
func TestPictureFits(t *testing.T) {
	for width := range 200 {
		for _, ascii := range []bool{false, true} {
			p := Picture{Width: width, ASCII: ascii, From: noon, Paint: func(_ term.Style, text string) string { return text }}
			for _, d := range windows {
				p.Until = noon.Add(d)
				for _, line := range p.Draw(machine()) {
					if n := utf8.RuneCountInString(line); n > width || strings.HasSuffix(line, " ") {
						t.Fatalf("%d columns of %d: %q", n, width, line)
					}
				}
			}
		}
	}
}

// A job that has been running for years can be drawn.
func TestAJobOfYearsIsDrawn(t *testing.T) {
	p := Picture{Width: 250, ASCII: true, From: noon, Until: noon.Add(time.Hour), Paint: func(_ term.Style, text string) string { return text }}
	for _, years := range []time.Duration{0, 1, 2, 100} {
		lines := p.Draw([]job.GPUCourse{{Stays: []job.Stay{{Kind: job.StayRunning, Job: 1, Called: "1", Milli: 1000, From: noon.Add(-years * 8766 * time.Hour), Until: noon.Add(30 * time.Minute)}}}})
		if !strings.Contains(strings.Join(lines, "\n"), "=1=====") {
			t.Errorf("after %d years: %q", years, lines)
		}
	}
}

// Ticks are at round hours even on a day that has an hour more or less.
func TestTicksOnADayOf23Hours(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []time.Time{time.Date(2026, 3, 28, 20, 0, 0, 0, zone), time.Date(2026, 10, 24, 20, 0, 0, 0, zone)} {
		p := Picture{Width: 100, ASCII: true, From: day, Until: day.Add(24 * time.Hour), Paint: func(_ term.Style, text string) string { return text }}
		axis := p.axis(90)
		if !strings.Contains(axis, "|Sun 2") || strings.Contains(axis, ":30") {
			t.Errorf("%s", axis)
		}
	}
}

// The window is long enough to show the last expected start and end.
func TestWindow(t *testing.T) {
	p := api.PlanReply{Course: job.Course{At: noon, Until: noon.Add(7 * 24 * time.Hour), GPUs: machine()}}
	for id, want := range map[job.ID]time.Duration{0: 3 * time.Hour, 12: time.Hour, 16: 3 * time.Hour, 13: time.Hour, 99: time.Hour} {
		if got := Window(&p, id).Sub(noon); got != want {
			t.Errorf("job %d: %s, want %s", id, got, want)
		}
	}
	p.Until = noon.Add(90 * time.Minute)
	if got := Window(&p, 0); !got.Equal(p.Until) {
		t.Errorf("of a plan that ends: %s", got)
	}
}
