package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// Health checks every part.
func (d *Daemon) Health(ctx context.Context) []job.Check {
	checks := []job.Check{d.checkStore()}
	var v job.View
	if err := d.ask(ctx, func(c *core.Core, now time.Time) { v = c.View(job.Query{IDs: []job.ID{}}, now) }); err == nil {
		checks = append(checks, checkGPUs(&v)...)
	}
	for _, check := range d.opt.Checks {
		checks = append(checks, check(ctx))
	}
	return checks
}

func (d *Daemon) checkStore() job.Check {
	if err := d.commit.trouble(); err != nil {
		return job.Check{
			Name: "state", Health: job.Failing, Detail: "the state can't be written: " + err.Error(),
			Next: "free space or repair the disk of /var/lib/gpusched; the daemon goes on by itself",
		}
	}
	return job.Check{Name: "state", Health: job.Healthy, Detail: "every acknowledged job is on disk"}
}

func checkGPUs(v *job.View) []job.Check {
	answer := 0
	for _, g := range v.GPUs {
		if g.State != "lost" && g.State != "unknown" {
			answer++
		}
	}
	c := job.Check{Name: "gpus", Health: job.Healthy, Detail: fmt.Sprintf("%d of %d GPUs answer, driver %s", answer, len(v.GPUs), v.Driver)}
	switch {
	case v.Problem != "":
		c.Health, c.Detail = job.Degraded, v.ProblemDetail
		c.Next = "run nvidia-smi; jobs with --gpus 0 run meanwhile, and GPU jobs wait"
	case v.SampledAt.IsZero():
		c.Health, c.Detail = job.Degraded, "the GPUs have not been read yet"
	case len(v.GPUs) == 0:
		c.Detail = "this machine has no GPU: jobs with --gpus 0 run"
	}
	checks := []job.Check{c}
	for _, g := range v.GPUs {
		if v.Problem == "" && (g.State == "lost" || g.State == "suspect" || g.State == "unknown") {
			checks = append(checks, job.Check{
				Name: fmt.Sprintf("gpu %d", g.Index), Health: job.Degraded, Detail: g.State + ": " + g.StateDetail,
				Next: "nothing is placed on it until it answers and is clean; see nvidia-smi and the kernel log",
			})
		}
	}
	return checks
}
