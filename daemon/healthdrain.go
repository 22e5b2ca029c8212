package daemon

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// checkDrains reports what an administrator keeps jobs from: single GPUs, or the whole machine. It is no fault, but
// somebody may have forgotten it.
func checkDrains(v *job.View, now time.Time) (checks []job.Check) {
	add := func(name, effect, undo string, c *job.GPUControl) {
		said := words.Say(c.Say())
		if !c.Drain && c.UUID != job.EveryGPU {
			said = "paused" + strings.TrimPrefix(said, "drained")
		}
		checks = append(checks, job.Check{
			Name: name, Health: job.Limited, Detail: fmt.Sprintf("%s, since %s: %s", said, job.FormatMoment(c.At), effect),
			Next: fmt.Sprintf("'gpusched %s' takes it back", undo),
		})
	}
	if v.Drained != nil {
		add("drain", "no job starts, and those that run go on", "daemon resume", v.Drained)
	}
	for i := range v.GPUs {
		g := &v.GPUs[i]
		switch c := &g.Control; {
		case !c.Paused || !c.Until.IsZero() && !now.Before(c.Until):
		case c.Drain:
			add(fmt.Sprintf("gpu %d drain", g.Index), "no new job gets it", fmt.Sprint("gpu undrain ", g.Index), c)
		default:
			add(fmt.Sprintf("gpu %d pause", g.Index), "no new job gets it", fmt.Sprint("gpu resume ", g.Index), c)
		}
	}
	return checks
}
