package act

import (
	"context"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

type UpdateCmd struct {
	Change job.Change `embed:""`

	AfterStart []string `name:"after" sep:"none" placeholder:"ID" group:"queue"`
	AfterOK    []string `name:"after-ok" sep:"none" placeholder:"ID" group:"queue"`
	AfterFail  []string `name:"after-fail" sep:"none" placeholder:"ID" group:"queue"`
	AfterAny   []string `name:"after-any" sep:"none" placeholder:"ID" group:"queue"`
	jobsFlags
}

func (*UpdateCmd) About() cli.About {
	about := cli.Acting(cli.IsLive)
	about.Usual = true
	return about
}

func (c *UpdateCmd) Run(ctx context.Context, a *cli.App) error {
	if len(a.Far) > 1 && slices.ContainsFunc(c.awaited(), func(word string) bool { return word != "none" }) {
		return cli.Refuse(api.CodeUsage, "change what they wait for machine by machine",
			"a job can depend on jobs of its own machine only, and these are of %s", cli.Joined(a.Far, ", ", cli.HostName))
	}
	req, err := c.request(ctx, a)
	if err != nil {
		return err
	}
	r := api.ManyRequest{Command: job.CommandUpdate, Change: &req}
	return c.actOnJobs(ctx, a, r, func(j api.Job) string {
		if j.State == job.Running && c.Change.MemBytes != nil && c.Change.TimeLimit == nil {
			return "changed: it may use up to " + job.FormatSize(j.MemBytes) + " of host memory"
		}
		return "changed" + afterChange(a, j)
	})
}

// afterChange is like QueuePosition, but the text for waiting jobs begins differently. It must not
// suggest that a job waits because of the change.
func afterChange(a *cli.App, j api.Job) string {
	if why, ok := strings.CutPrefix(cli.Waiting(a.Out, j), ": "); ok && (j.State == job.Queued || cli.WaitsAgain(j)) {
		return "; it waits: " + why + othersRun(j)
	}
	return QueuePosition(a, j) + othersRun(j)
}

func (c *UpdateCmd) request(ctx context.Context, a *cli.App) (job.Change, error) {
	req := c.Change
	after, err := c.dependencies(ctx, a)
	if req.After = after; err == nil && req == (job.Change{}) {
		err = cli.Refuse(api.CodeUsage, "such as: gpusched update 42 --priority 5", "there is nothing to change")
	}
	return req, err
}

// awaited returns the words of all --after options. These words name jobs.
func (c *UpdateCmd) awaited() []string {
	return slices.Concat(c.AfterStart, c.AfterOK, c.AfterFail, c.AfterAny)
}

// dependencies returns the new dependencies, or nil if no option sets them.
func (c *UpdateCmd) dependencies(ctx context.Context, a *cli.App) (*[]job.Dependency, error) {
	all := c.awaited()
	switch {
	case len(all) == 0:
		return nil, nil
	case len(all) == 1 && all[0] == "none":
		return &[]job.Dependency{}, nil
	}
	list, err := a.Dependencies(ctx, c.AfterStart, c.AfterOK, c.AfterFail, c.AfterAny)
	return &list, err
}
