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
	var active []job.Job
	err := d.ask(ctx, func(c *core.Core, now time.Time) { v, active = c.View(job.Query{IDs: []job.ID{}}, now), c.Active() })
	if err == nil {
		checks = append(checks, checkGPUs(&v)...)
		checks = append(checks, checkStuck(active)...)
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
			Next: "free space on the disk of /var/lib/gpusched or repair it (df, journalctl -k); the daemon goes on by itself",
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
		if g.RowsFailed {
			checks = append(checks, job.Check{
				Name: fmt.Sprintf("gpu %d memory", g.Index), Health: job.Degraded, Detail: "a bad row of its memory could not be replaced: it has none to spare",
				Next: fmt.Sprintf("it takes jobs; have it replaced, and until then watch for memory errors ('gpusched gpu drain %d' keeps jobs off)", g.Index),
			})
		}
		switch g.State {
		case "lost", "suspect", "unknown", "sick":
			if v.Problem == "" {
				checks = append(checks, checkGPU(&g))
			}
		}
	}
	return checks
}
