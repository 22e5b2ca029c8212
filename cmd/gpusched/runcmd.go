package main

import (
	"context"

	"github.com/gpusched/gpusched/daemon/api"
)

// runCmd queues a job and stands for it: what it prints comes here, and it ends as
// the job does.
type runCmd struct {
	jobOptions

	Quiet bool `name:"quiet" short:"q" group:"self" help:"Say nothing of the job; print only what it prints."`
}

func (c *runCmd) Run(ctx context.Context, a *app) error {
	j, err := c.submit(ctx, a)
	if err != nil {
		return waitError(ctx, err)
	}
	return a.attend(ctx, j, c.Quiet)
}

// submit queues the job, and nothing else.
func (c *runCmd) submit(ctx context.Context, a *app) (api.Job, error) {
	req, err := c.request(ctx, a)
	if err != nil {
		return api.Job{}, err
	}
	if err := c.checkProgram(a, &req); err != nil {
		return api.Job{}, err
	}
	a.hint(req)
	a.restoreLimits()
	reply, err := a.client.Submit(ctx, req)
	if err == nil {
		a.hintLimit(&c.jobOptions, reply.Job)
	}
	return reply.Job, err
}
