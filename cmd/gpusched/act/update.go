package client

import (
	"context"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// updateCmd changes waiting jobs.
type updateCmd struct {
	Change job.Change `embed:""`

	AfterStart []string `name:"after" sep:"none" placeholder:"ID" group:"queue"`
	AfterOK    []string `name:"after-ok" sep:"none" placeholder:"ID" group:"queue"`
	AfterFail  []string `name:"after-fail" sep:"none" placeholder:"ID" group:"queue"`
	AfterAny   []string `name:"after-any" sep:"none" placeholder:"ID" group:"queue"`
	jobsFlags
}

func (*updateCmd) About() About {
	about := acting(isLive)
	about.Usual = true
	return about
}

func (c *updateCmd) Run(ctx context.Context, a *app) error {
	if len(a.far) > 1 && c.waits() {
		return refuse(api.CodeUsage, "change what they wait for machine by machine",
			"a job can wait for jobs of its own machine only, and these are of %s", joined(a.far, ", ", hostName))
	}
	req, err := c.request(ctx, a)
	if err != nil {
		return err
	}
	r := api.ManyRequest{Command: job.CommandUpdate, Change: &req}
	return c.act(ctx, a, r, func(j api.Job) string { return "changed" + a.afterChange(j) })
}

// afterChange is queuePosition, but of a job that waits: for what it waits need not be what was
// changed.
func (a *app) afterChange(j api.Job) string {
	if why, ok := strings.CutPrefix(waiting(a.out, j), ": "); ok && (j.State == job.Queued || waitsAgain(j)) {
		return "; it waits: " + why + othersRun(j)
	}
	return a.queuePosition(j) + othersRun(j)
}

func (c *updateCmd) request(ctx context.Context, a *app) (job.Change, error) {
	req := c.Change
	after, err := c.dependencies(ctx, a)
	if req.After = after; err == nil && req == (job.Change{}) {
		err = refuse(api.CodeUsage, "such as: gpusched update 42 --priority 5", "there is nothing to change")
	}
	return req, err
}

// awaited are the words for what the jobs are to wait for.
func (c *updateCmd) awaited() []string {
	return slices.Concat(c.AfterStart, c.AfterOK, c.AfterFail, c.AfterAny)
}

// waits reports whether the jobs are to wait for others.
func (c *updateCmd) waits() bool {
	return slices.ContainsFunc(c.awaited(), func(word string) bool { return word != "none" })
}

// dependencies is nil where none was named.
func (c *updateCmd) dependencies(ctx context.Context, a *app) (*[]job.Dependency, error) {
	all := c.awaited()
	switch {
	case len(all) == 0:
		return nil, nil
	case len(all) == 1 && all[0] == "none":
		return &[]job.Dependency{}, nil
	}
	list, err := a.dependencies(ctx, c.AfterStart, c.AfterOK, c.AfterFail, c.AfterAny)
	return &list, err
}
