package cli

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// A sentence shows an expected start with the range of probable times; a table shows the range
// only. Slurm knows no such range.
func TestExpectedStart(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	in := func(minutes time.Duration) time.Time { return noon.Add(minutes * time.Minute) }
	out := &term.Terminal{TTY: true, Now: noon}
	for name, c := range map[string]struct {
		j          api.Job
		text, cell string
	}{
		"a span": {
			api.Job{ExpectedStart: in(140), ExpectedStartFrom: in(110), ExpectedStartBy: in(240)},
			"about 14:20 (in 2h20m), probably between 13:50 and 16:00", "13:50-16:00",
		},
		"no end of it": {
			api.Job{ExpectedStart: in(140), ExpectedStartFrom: in(110)},
			"about 14:20 (in 2h20m), 13:50 at the earliest", "after 13:50",
		},
		"tomorrow": {
			api.Job{ExpectedStart: in(900), ExpectedStartFrom: in(800), ExpectedStartBy: in(1000)},
			"about 2026-03-02 03:00 (in 15h), probably between 2026-03-02 01:20 and 2026-03-02 04:40", "2026-03-02",
		},
		"till tomorrow": {
			api.Job{ExpectedStart: in(140), ExpectedStartFrom: in(110), ExpectedStartBy: in(1000)}, "", "after 13:50",
		},
		"at the latest": {
			api.Job{ExpectedStart: in(140), ExpectedStartBy: in(140)}, "by 14:20 (in 2h20m) at the latest", "by 14:20",
		},
		"a fixed moment": {
			api.Job{ExpectedStart: in(140), ExpectedStartFrom: in(140), ExpectedStartBy: in(140)}, "at 14:20 (in 2h20m)", "14:20",
		},
		"soon":    {api.Job{ExpectedStart: noon, ExpectedStartFrom: noon, ExpectedStartBy: noon}, "in a moment", "12:00"},
		"no span": {api.Job{ExpectedStart: in(140)}, "about 14:20 (in 2h20m)", "14:20"},
		"unknown": {api.Job{StartUnknown: true}, "", "unknown"},
	} {
		if text := StartText(out, c.j); c.text != "" && text != c.text {
			t.Errorf("%s: %q, want %q", name, text, c.text)
		}
		if cell := startCell(out, c.j); cell != c.cell {
			t.Errorf("%s: in a table %q, want %q", name, cell, c.cell)
		}
	}
}
