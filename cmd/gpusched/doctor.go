package main

import (
	"context"

	"github.com/gpusched/gpusched/cmd/gpusched/doctor"
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

// Run checks.
func (c *doctorCmd) Run(ctx context.Context, a *app) error {
	checks := doctor.Check(ctx, a.client, version, a.root)
	return a.showHealth(c.outputFlags, api.HealthReply{Schema: api.Schema, Health: job.Worst(checks), Checks: checks})
}
