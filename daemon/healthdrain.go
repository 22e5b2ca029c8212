package daemon

import (
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// checkDrains reports the GPUs that an administrator has drained, a pause of the whole machine, and
// its planned end.
// Neither is a fault, but somebody may have forgotten to undo it.
func checkDrains(v *job.View, now time.Time) (checks []job.Check) {
	add := func(name, effect, undo string, c *job.GPUControl) {
		said := job.Say("detail/check-withheld", c.Say(), c.At, effect)
		checks = append(checks, job.Check{
			Name: name, Health: job.Limited, Said: &said, Detail: words.Say(said),
			Next: fmt.Sprintf("'gpusched %s' takes it back", undo),
		})
	}
	if v.Drained != nil {
		add("drain", "no job starts, and those that run go on", "daemon resume", v.Drained)
	}
	if v.Ends != nil {
		said := job.Say("detail/ends-soon", v.Ends.Say())
		checks = append(checks, job.Check{
			Name: "shutdown", Health: job.Limited, Said: &said, Detail: words.Say(said), Next: "'shutdown -c' cancels it",
		})
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
