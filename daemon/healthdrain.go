package daemon

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// checkDrains reports the GPUs that an administrator has drained, a pause of the whole machine, and
// a planned shutdown. None of them is a fault, but somebody may have forgotten to undo it.
func checkDrains(v *job.View, now time.Time) (checks []job.Check) {
	add := func(name, effect, undo string, c *job.GPUControl) {
		said := job.Say("detail/check-withheld", c.Say(), c.At, effect)
		checks = append(checks, job.Check{
			Name: name, Health: job.Limited, Said: &said, Detail: words.Say(said),
			Next: fmt.Sprintf("'gpusched %s' takes it back", undo),
		})
	}
	if v.Drained != nil && v.Drained.Reboot == nil {
		add("drain", "no job starts, and those that run go on", "daemon resume", v.Drained)
	}
	if v.Ends != nil && v.Ends.By == "" {
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

// mostHolders is the number of jobs that a line of health names.
const mostHolders = 5

// checkReboot reports the reboot for which the machine is drained, and the jobs that hold it up.
func checkReboot(p *core.PlannedReboot, account func(uid int) string) job.Check {
	r, c := p.Order.Reboot, job.Check{Name: "reboot", Health: job.Limited, Next: "'gpusched daemon resume' calls it off"}
	var names []string
	for _, n := range p.Jobs[:min(mostHolders, len(p.Jobs))] {
		names = append(names, fmt.Sprintf("%s of %s", n.Append(nil), account(n.UID)))
	}
	if more := len(p.Jobs) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	c.Detail = words.Say(p.Order.Say())
	switch {
	case p.Refused != "" && len(p.Jobs) == 0:
		c.Health = job.Degraded
		c.Detail += ": no job runs, but the machine does not reboot: " + p.Refused
		c.Next = "it is asked again every minute; " + c.Next
	case len(p.Jobs) > 0:
		c.Detail += ": it waits for " + job.Count(int64(len(p.Jobs)), "job") + " (" + strings.Join(names, ", ") + ")"
	default:
		c.Detail += ": no job holds it up"
	}
	if !r.By.IsZero() && !r.Due {
		c.Detail += ", until " + r.By.Format("2006-01-02 15:04") + " at the latest"
	}
	if len(p.Jobs) > 0 && r.Due && !r.By.IsZero() && !r.Force {
		c.Next = "'gpusched daemon drain --then reboot --by now --force' does not wait for jobs that can't be queued again; " + c.Next
	}
	return c
}
