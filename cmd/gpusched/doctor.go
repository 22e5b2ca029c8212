package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// doctorCmd checks an installation from the outside as well.
type doctorCmd struct {
	outputFlags
}

// Help is the text below the options.
func (doctorCmd) Help() string {
	return `Everything that 'gpusched health' checks, and what can be seen from your side of the socket: the versions, the device nodes, the driver and its library, the settings, drop-ins for the jobs' units, whether sessions can open GPUs outside of jobs, paused GPUs, processes on GPUs that belong to no job, who has a GPU open that is out of service for what was left on it, the clock. What you may not read is UNKNOWN; root sees all of it. Nothing is changed, and no program is run.

` + healthStatuses + ", of which a scheduler that does not answer is one case."
}

// unseen is the health of what this user may not look at. It is worse than
// nothing.
const unseen = "UNKNOWN"

// Run checks.
func (c *doctorCmd) Run(ctx context.Context, a *app) error {
	checks, reached := a.askScheduler(ctx)
	h := host{root: a.root}
	checks = append(checks, h.checks()...)
	if reached {
		checks = append(checks, a.checkUse(ctx)...)
	}
	return a.showHealth(c.outputFlags, api.HealthReply{Schema: api.Schema, Health: job.Worst(checks), Checks: checks})
}

// askScheduler is what the scheduler says of itself, and whether it can be asked.
func (a *app) askScheduler(ctx context.Context) ([]job.Check, bool) {
	c := job.Check{Name: "socket", Health: job.Healthy, Detail: "the scheduler answers"}
	v, err := a.client.Version(ctx)
	if err != nil {
		c.Health, c.Detail, c.Next = job.Failing, err.Error(), "systemctl status gpusched.socket gpusched.service; journalctl -u gpusched -n 50"
		var e *api.Error
		if errors.As(err, &e) {
			c.Detail = e.Message
		}
		return []job.Check{c}, false
	}
	checks := []job.Check{c, checkVersions(v)}
	reply, err := a.client.Health(ctx)
	if err != nil {
		return append(checks, job.Check{Name: "health", Health: job.Failing, Detail: err.Error(), Next: "journalctl -u gpusched -n 50"}), true
	}
	return append(checks, reply.Checks...), true
}

func checkVersions(v api.VersionReply) job.Check {
	c := job.Check{Name: "version", Health: job.Healthy, Detail: "gpusched and the scheduler are " + version}
	if v.Version != version {
		c.Health, c.Detail = job.Degraded, fmt.Sprintf("gpusched is %s, the scheduler that runs is %s", version, v.Version)
		c.Next = "systemctl restart gpusched, if it was upgraded; jobs go on"
	}
	return c
}

// checkUse reports GPUs that are kept from jobs, by an administrator or by
// others' processes.
func (a *app) checkUse(ctx context.Context) []job.Check {
	reply, err := a.client.GPUs(ctx)
	if err != nil {
		return nil // health has told
	}
	var checks []job.Check
	for _, g := range reply.GPUs {
		name := fmt.Sprintf("gpu %d use", g.Index)
		if g.Paused {
			checks = append(checks, job.Check{
				Name: name, Health: job.Degraded, Detail: pausedWords(&g),
				Next: fmt.Sprintf("'gpusched gpu %s %d' when it may be used again", undoing(&g), g.Index),
			})
		}
		if text := foreignWords(&g); text != "" {
			checks = append(checks, job.Check{Name: name, Health: job.Degraded, Detail: text, Next: "have them run as jobs, or keep this GPU for them: 'gpusched gpu pause', or gpus.only in the settings"})
		}
	}
	checks = append(checks, host{root: a.root}.checkHolders(reply.GPUs)...)
	if len(checks) == 0 && len(reply.GPUs) > 0 {
		checks = append(checks, job.Check{Name: "gpu use", Health: job.Healthy, Detail: "no GPU is paused or used by processes that belong to no job"})
	}
	return checks
}

// undoing is the command that takes back what keeps a GPU from jobs.
func undoing(g *api.GPU) string {
	if g.Drain {
		return "undrain"
	}
	return "resume"
}

func pausedWords(g *api.GPU) string {
	text := "paused"
	if g.Drain {
		text = "drained"
	}
	if text += " by " + g.PausedBy; g.PausedReason != "" {
		text += " (" + g.PausedReason + ")"
	}
	if g.PausedUntil.IsZero() {
		text += ", until somebody resumes it"
	}
	return text
}

// foreignWords names who uses a GPU outside of jobs.
func foreignWords(g *api.GPU) string {
	var parts []string
	if f := foreignUse(g.Processes); f.count > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s, with %s", f.count, strings.Join(f.users, ", "), job.FormatSize(f.bytes)))
	}
	if g.UnlistedBytes > 0 {
		parts = append(parts, "some that the driver does not list, with "+job.FormatSize(g.UnlistedBytes))
	}
	if len(parts) == 0 {
		return ""
	}
	return "processes that belong to no job: " + strings.Join(parts, "; ")
}
