package daemon

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/starts"
	"github.com/gpusched/gpusched/daemon/health"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// Health checks every part of the scheduler.
func (d *Daemon) Health(ctx context.Context) []job.Check {
	checks := []job.Check{d.commit.check()}
	var v job.View
	var active []job.Job
	var slow *core.SlowStart
	var machine, quota core.Hopeless
	var reboot *core.PlannedReboot
	var troubles []starts.Trouble
	asking, cancel := d.host.Timeout(ctx, CheckTime)
	defer cancel()
	err := d.inbox.ask(asking, func(c *core.Core, now time.Time) {
		v, active, slow = c.View(job.Query{IDs: []job.ID{}}, now), c.Active(), c.SlowStart(now)
		troubles = c.StartTroubles(now)
		machine, quota = c.Hopeless(now)
		reboot = c.PlannedReboot(now)
	})
	if err == nil {
		checks = append(checks, health.GPUs(&v, d.settings.Load().Policy.OnlyGPUs, d.directory.account)...)
		checks = append(checks, health.Proofs(&v, d.settings.Load().Policy.Prove))
		checks = append(checks, health.Parking(&v, d.settings.Load().Policy.Park.Allow)...)
		checks = append(checks, checkDrains(&v, d.host.Now())...)
		checks = append(checks, checkStrangers(&v, d.directory.account)...)
		if reboot != nil {
			checks = append(checks, checkReboot(reboot, d.directory.account))
		}
		checks = append(checks, health.Stuck(active)...)
		checks = append(checks, checkQueue(&machine, &quota))
	} else {
		checks = append(checks, job.Check{
			Name: "scheduler", Health: job.Failing, Detail: "its loop does not answer: " + err.Error(),
			Next: "systemd's watchdog restarts it within a minute; report it with 'journalctl" + d.opt.Scope.Flag() + " -u gpusched'. Running jobs are not affected",
		})
	}
	alerts := d.alerts.check(d.settings.Load().AlertUnit)
	checks = append(checks, d.exec.checkStarts(slow, troubles), alerts, d.clock.check(d.host.Now()))
	if d.opt.Inhibit != nil {
		checks = append(checks, d.inhibitor.check())
	}
	return append(checks, d.probes.run(ctx)...)
}

// startsFailing is the time after which health reports that all starts fail. Until then, health
// calls them degraded.
const startsFailing = time.Hour

// checkStarts reports failed starts that are not the jobs' fault. Such starts are tried again.
func (x *executor) checkStarts(slow *core.SlowStart, troubles []starts.Trouble) job.Check {
	since, err := x.starting.last()
	if slow != nil && len(troubles) == 0 && (err == nil || since.After(slow.Since)) { // otherwise no job starts at all
		return checkSlowStart(slow, x.host.Now())
	}
	c := job.Check{Name: "starts", Health: job.Healthy, Detail: "placed jobs start"}
	switch {
	case len(troubles) > 0:
		var said []string
		c.Health, c.Next = job.Degraded, "fix what this line names ('journalctl"+x.opt.Scope.Flag()+" -u gpusched' lists every start); the waiting jobs then start by themselves"
		for _, t := range troubles {
			if t.All {
				c.Health = job.Failing
			}
			said = append(said, startTrouble(&t))
		}
		c.Detail = strings.Join(said, "; ")
	case err != nil:
		c.Health = job.Degraded
		if x.host.Now().Sub(since) >= startsFailing {
			c.Health = job.Failing
		}
		c.Detail = fmt.Sprintf("no job has been started since %s; starts are tried again: %v", since.Format("15:04:05"), err)
		c.Next = "see the other lines of this list"
	}
	return c
}

func startTrouble(t *starts.Trouble) string {
	text := fmt.Sprintf("the last %d starts of jobs of %s failed since ", t.Starts, cmp.Or(t.User, "several users"))
	if t.Starts == 1 {
		text = "the last start of a job of " + t.User + " failed at "
	}
	text += t.Since.Format("15:04:05") + ": " + words.Say(t.Why)
	if !t.Next.IsZero() {
		text += "; one job is tried at a time, the next at " + t.Next.Format("15:04:05")
	}
	return text
}

// checkQueue reports waiting jobs that can't start on this machine or under their quota. A job that
// asks for more than its quota is not a fault of the machine: an administrator chose the quota.
func checkQueue(machine, quota *core.Hopeless) job.Check {
	c := job.Check{Name: "queue", Health: job.Healthy, Detail: "no waiting job asks for more than the machine has or its user's quota allows"}
	const next = "'gpusched why %s' says why; its user can change it ('gpusched update') or cancel it"
	if quota.Jobs > 0 {
		c.Detail, c.Next = neverStarts(quota), fmt.Sprintf(next, quota.First)
	}
	if machine.Jobs > 0 {
		c = c.Degrade(neverStarts(machine), fmt.Sprintf(next+"; where a GPU is missing see nvidia-smi and 'dmesg | grep NVRM'", machine.First))
	}
	return c
}

func neverStarts(h *core.Hopeless) string {
	if h.Jobs == 1 {
		return fmt.Sprintf("job %s %s", h.First, words.Say(h.Why))
	}
	return fmt.Sprintf("%d jobs can't start as things are; job %s, the first of them, %s", h.Jobs, h.First, words.Say(h.Why))
}

func (c *committer) check() job.Check {
	if err := c.trouble(); err != nil {
		return job.Check{
			Name: "state", Health: job.Failing, Detail: "the state can't be written: " + err.Error(),
			Next: "free space on the disk of /var/lib/gpusched or repair it (df, journalctl -k); the daemon goes on by itself",
		}
	}
	return job.Check{Name: "state", Health: job.Healthy, Detail: "every acknowledged job is on disk"}
}
