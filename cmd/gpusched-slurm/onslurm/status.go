package onslurm

import (
	"context"
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// mostWaiting is the maximum number of waiting jobs in a status.
const mostWaiting = 10

// status returns an overview of the cluster.
func (e *Engine) status(ctx context.Context) (api.StatusReply, error) {
	config, err := e.slurm.Config(ctx)
	if err != nil {
		return api.StatusReply{}, err
	}
	list, err := e.queue(ctx)
	if err != nil {
		return api.StatusReply{}, err
	}
	nodes, err := e.nodes(ctx)
	if err != nil {
		return api.StatusReply{}, err
	}
	api.InListOrder(list, byStart)
	s := api.StatusReply{Schema: api.Schema, Version: "on Slurm " + config["SLURM_VERSION"], Counts: map[job.State]int{},
		GPUs: e.locate(ctx, list, 0), Running: []api.Job{}, Waiting: []api.Job{}}
	s.StartedAt = parseTime(config["BOOT_TIME"])
	for _, j := range list {
		s.Counts[j.State]++
		switch {
		case j.State.Live():
			s.Running = append(s.Running, j)
		case j.State == job.Queued && len(s.Waiting) < mostWaiting:
			s.Waiting = append(s.Waiting, j)
		}
	}
	for _, n := range nodes {
		s.Host.MemBytes, s.Host.PromisedMem = s.Host.MemBytes+n.mem, s.Host.PromisedMem+n.memTaken
		s.Host.CPUs, s.Host.PromisedCPUs = s.Host.CPUs+n.cpus, s.Host.PromisedCPUs+n.cpusTaken
	}
	checks := nodeChecks(nodes)
	s.Health = job.Worst(checks)
	for i := range checks {
		if checks[i].Health == s.Health && s.Health != job.Healthy {
			s.Problem = &checks[i]
			break
		}
	}
	return s, nil
}

// health reports whether the controllers answer, and the state of the nodes.
func (e *Engine) health(ctx context.Context) (api.HealthReply, error) {
	out, err := e.slurm.Ask(ctx, "scontrol", "ping")
	if err != nil && len(out) == 0 {
		return api.HealthReply{}, err
	}
	checks := controllerChecks(string(out))
	if job.Worst(checks) != job.Failing {
		nodes, err := e.nodes(ctx)
		if err != nil {
			return api.HealthReply{}, err
		}
		checks = append(checks, nodeChecks(nodes)...)
	}
	if _, err := e.askAccounting(ctx, "--starttime=now"); err != nil {
		checks = append(checks, job.Check{Name: "accounting", Health: job.Healthy, Detail: "none answers, so jobs that ended more than a few minutes ago are unknown"})
	}
	return api.HealthReply{Schema: api.Schema, Health: job.Worst(checks), Checks: checks}, nil
}

// controllerChecks reads lines such as "Slurmctld(primary) at n1 is UP".
func controllerChecks(text string) (checks []job.Check) {
	up := false
	for line := range strings.Lines(text) {
		who, how, ok := strings.Cut(strings.TrimSpace(line), " is ")
		if !ok {
			continue
		}
		c := job.Check{Name: "controller", Health: job.Healthy, Detail: who + " is " + strings.ToLower(how)}
		if how != "UP" {
			c.Health, c.Next = job.Degraded, "administrators see 'systemctl status slurmctld' on that machine"
		}
		up = up || how == "UP"
		checks = append(checks, c)
	}
	for i := range checks {
		if !up {
			checks[i].Health = job.Failing
		}
	}
	return checks
}

// nodeChecks reports the nodes that take no jobs, and counts all other nodes.
func nodeChecks(nodes []node) []job.Check {
	good, reasons := 0, []string{}
	for _, n := range nodes {
		closed, _ := n.availability()
		if !closed {
			good++
			continue
		}
		why := n.stateText()
		if n.reason != "" {
			why += ": " + n.reason
		}
		reasons = append(reasons, n.name+" is "+why)
	}
	c := job.Check{Name: "nodes", Health: job.Healthy, Detail: fmt.Sprintf("%d of %d take jobs", good, len(nodes))}
	if len(reasons) > 0 {
		c.Health, c.Next = job.Degraded, "see 'sinfo -R'"
		c.Detail += "; " + strings.Join(reasons[:min(len(reasons), 5)], "; ")
	}
	if good == 0 {
		c.Health = job.Failing
	}
	return []job.Check{c}
}
