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

func (c *doctorCmd) Run(ctx context.Context, a *app) error {
	checks := doctor.Check(ctx, a.client, version, a.root)
	return a.showHealth(c.outputFlags, api.HealthReply{Schema: api.Schema, Health: job.Worst(checks), Checks: checks})
}
