package sched

import (
	"testing"
	"time"
)

// TestCountedLate has a job for both GPUs, of which one is free and one is in use for an hour, or for
// three in one case of five, and a job of one GPU behind it. Until the first has waited for twice
// as long as it is to run, it is taken to start when the three hours are over, or that wait is. The
// other passes it if it is to have ended by then, or if late it ends within the three hours.
func TestCountedLate(t *testing.T) {
	const (
		passes = "start 2 on 1, keep 0+1 for 1 at +1h0m0s"
		waits  = "keep 0+1 for 1 at +1h0m0s"
	)
	for name, c := range map[string]struct {
		patience        int
		waited, run     time.Duration // of the first
		other, lateness time.Duration // of the other
		want            string
	}{
		"it has just come":             {2, 0, 2 * time.Hour, 2 * time.Hour, 4 * time.Hour, "start 2 on 1, keep 0+1 for 1 at +3h0m0s"},
		"and the other is long":        {2, 0, 2 * time.Hour, 5 * time.Hour, 6 * time.Hour, "keep 0+1 for 1 at +3h0m0s"},
		"it has waited for some time":  {2, 2 * time.Hour, 2 * time.Hour, 110 * time.Minute, 4 * time.Hour, "keep 0+1 for 1 at +2h0m0s"},
		"and the other is short":       {2, 2 * time.Hour, 2 * time.Hour, time.Hour, 4 * time.Hour, "start 2 on 1, keep 0+1 for 1 at +2h0m0s"},
		"it has waited for long":       {2, 9 * time.Hour, 2 * time.Hour, time.Hour, 4 * time.Hour, waits},
		"and the other is rarely late": {2, 9 * time.Hour, 2 * time.Hour, time.Hour, 2 * time.Hour, passes},
		"all is as expected":           {0, 0, 2 * time.Hour, time.Hour, 2 * time.Hour, waits},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 2)
			sc.s.Policy.Patience = c.patience
			sc.runs(9, time.Hour, on(0)...).Late = noon.Add(3 * time.Hour)
			sc.waits(1, 2000, expected(c.run), func(w *Waiting) { w.Since = ago(c.waited) })
			sc.waits(2, 1000, expected(c.other), func(w *Waiting) { w.Late, w.Since = c.lateness, noon })
			sc.expect(c.want)
		})
	}
}
