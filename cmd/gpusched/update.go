package main

import (
	"context"
	"slices"

	"github.com/gpusched/gpusched/daemon/api"
)

// updateCmd changes waiting jobs.
type updateCmd struct {
	GPUs   *gpuAmount  `name:"gpus" short:"g" placeholder:"N" group:"needs" help:"How many GPUs, as for submit."`
	GPUMem *size       `name:"gpu-mem" placeholder:"SIZE" group:"needs" help:"Memory that must be free on each GPU."`
	Mem    *size       `name:"mem" short:"m" placeholder:"SIZE" group:"needs" help:"Host memory."`
	CPUs   *int        `name:"cpus" short:"c" placeholder:"N" group:"needs" help:"CPU time of at most N CPUs; 0 is no limit."`
	Time   *spanOrNone `name:"time" short:"t" placeholder:"TIME" group:"needs" help:"Time limit; none takes it away where the site allows that."`

	Priority    *priority `name:"priority" short:"p" placeholder:"P" group:"life" help:"A number or a class, as for submit."`
	Preemptible *bool     `name:"preemptible" negatable:"" group:"life" help:"Whether the job may be stopped and queued again for one that goes first."`
	Retries     *int      `name:"retries" placeholder:"N" group:"life" help:"Start the job again up to N times when it fails."`

	Begin      moment   `name:"begin" placeholder:"WHEN" group:"queue" help:"Not before this time; now takes the time away."`
	After      []string `name:"after" sep:"none" placeholder:"ID" group:"queue" help:"Not before these jobs have started. None of the earlier dependencies stays; none alone takes all away."`
	AfterOK    []string `name:"after-ok" sep:"none" placeholder:"ID" group:"queue" help:"Not before these jobs have completed."`
	AfterFail  []string `name:"after-fail" sep:"none" placeholder:"ID" group:"queue" help:"Not before these jobs have ended in another way."`
	AfterAny   []string `name:"after-any" sep:"none" placeholder:"ID" group:"queue" help:"Not before these jobs have ended."`
	ArrayLimit *int     `name:"array-limit" placeholder:"N" group:"queue" help:"How many tasks of the array run at once; 0 is no limit."`

	Name    *string `name:"name" short:"n" placeholder:"NAME" group:"label" help:"Name for people."`
	Comment *string `name:"comment" placeholder:"TEXT" group:"label" help:"A comment. Everybody can see it."`
	outputFlags

	IDs []string `arg:"" name:"id" help:"The jobs."`
}

// Help is the text below the options.
func (updateCmd) Help() string {
	return `What is not named stays as it is. Only a job that waits can be changed; of an array that is what its further tasks ask. One that then asks for more GPUs, CPUs, memory or time has waited from now on only. An administrator may raise a priority above normal; the owner does not make such a job larger or longer.

Examples:

    gpusched update 42 --priority 5 --time 4h
    gpusched update 42 --begin now --after none
    gpusched update 7 --array-limit 8

` + aboutMoments + "\n\n" + aboutIDs
}

// Run changes the jobs.
func (c *updateCmd) Run(ctx context.Context, a *app) error {
	req, err := c.request(ctx, a)
	if err != nil {
		return err
	}
	if c.CPUs != nil {
		a.hintCPUs(*c.CPUs, onlineFile)
	}
	do := func(ctx context.Context, id string) (api.JobReply, error) { return a.client.Update(ctx, id, req) }
	return a.act(ctx, c.outputFlags, c.IDs, do, func(j api.Job) string { return "changed" + a.standing(j) })
}

func (c *updateCmd) request(ctx context.Context, a *app) (api.UpdateRequest, error) {
	req := api.UpdateRequest{
		GPUMemBytes: (*int64)(c.GPUMem), MemBytes: (*int64)(c.Mem), CPUs: c.CPUs, Priority: (*string)(c.Priority),
		ArrayLimit: c.ArrayLimit, Preemptible: c.Preemptible, Retries: c.Retries, Name: c.Name, Comment: c.Comment,
	}
	if c.GPUs != nil {
		req.GPUMilli = &c.GPUs.milli
	}
	if c.Time != nil {
		seconds := span(*c.Time).seconds()
		req.TimeLimitSeconds = &seconds
	}
	if c.Begin.set {
		at := c.Begin.utc()
		req.Begin = &at
	}
	after, err := c.dependencies(ctx, a)
	if req.After = after; err == nil && req == (api.UpdateRequest{}) {
		err = &api.Error{Code: api.CodeUsage, Message: "there is nothing to change", Hint: "such as: gpusched update 42 --priority 5"}
	}
	return req, err
}

// dependencies is nil where none was named.
func (c *updateCmd) dependencies(ctx context.Context, a *app) (*[]api.Dependency, error) {
	all := slices.Concat(c.After, c.AfterOK, c.AfterFail, c.AfterAny)
	switch {
	case len(all) == 0:
		return nil, nil
	case len(all) == 1 && all[0] == "none":
		return &[]api.Dependency{}, nil
	}
	list, err := a.dependencies(ctx, c.After, c.AfterOK, c.AfterFail, c.AfterAny)
	return &list, err
}
