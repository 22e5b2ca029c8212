package sched

import (
	"testing"
	"time"
)

// In TestCountedLate job 1 asks for both GPUs, and job 2 behind it asks for one. One GPU is free.
// The other GPU is in use for an hour, or in one case in five for three hours. At first, job 1 is
// expected to start after three hours. Late ends no longer count from the moment at which job 1 has
// waited for twice its run time. If that moment comes before the three hours are over, job 1 is
// expected to start then. Job 2 may pass if its expected end is before that start, or if its late
// end is within the three hours.
func TestCountedLate(t *testing.T) {
	const (
		passes = "start 2 on 1, keep 0+1 for 1 at +1h0m0s"
		waits  = "keep 0+1 for 1 at +1h0m0s"
	)
	for name, c := range map[string]struct {
		patience        int
		waited, run     time.Duration // of job 1
		other, lateness time.Duration // of job 2
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
			sc.runJob(9, time.Hour, onGPUs(0)...).Late = noon.Add(3 * time.Hour)
			sc.queueJob(1, 2000, expected(c.run), func(w *Waiting) { w.Since = ago(c.waited) })
			sc.queueJob(2, 1000, expected(c.other), func(w *Waiting) { w.Late, w.Since = c.lateness, noon })
			sc.expect(c.want)
		})
	}
}
