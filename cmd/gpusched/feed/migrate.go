package feed

import (
	"context"
	"fmt"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/site"
	"github.com/gpusched/gpusched/cmd/gpusched/submit"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
)

// MigrateCmd moves waiting jobs to Slurm.
type MigrateCmd struct{ engines.Move }

func (*MigrateCmd) About() cli.About {
	return cli.About{
		Host: cli.RunThere, Hosts: cli.OneAtATime, Jobs: cli.OneAtATime,
		Slurm: cli.NotForSlurm("it moves jobs from this machine's queue", "'gpusched --on local migrate --to slurm ID...'"),
	}
}

func (c *MigrateCmd) Run(ctx context.Context, a *cli.App) error {
	switch {
	case c.Mine == (len(c.IDs) > 0):
		return cli.Usagef("name the jobs, or --mine for all of yours: gpusched migrate --to slurm --mine")
	case a.Slurm == nil:
		return site.BecomeSlurm(a)
	}
	a.RestoreLimits()
	stays, err := a.Slurm.Migrate(ctx, shell(a), c.Move)
	if err == nil && stays != "" {
		err = cli.ExitStatus(stays.ExitStatus())
	}
	return err
}

// ExportCmd writes this machine's settings in the form of another scheduler.
type ExportCmd struct {
	Slurm exportSlurmCmd `cmd:"" usage:"[options]" help:"Write slurm.conf and the files that go with it."`
}

func (*ExportCmd) About() cli.About {
	return cli.About{
		Host: cli.OnlyHere, Hosts: cli.OneAtATime,
		Slurm: cli.NotForSlurm("it writes down the settings of this machine", "'gpusched --on local export slurm'"),
	}
}

// exportSlurmCmd writes the configuration files of a Slurm that is set up like this machine.
type exportSlurmCmd struct{ engines.Export }

func (c *exportSlurmCmd) Run(ctx context.Context, a *cli.App) error {
	if a.Slurm == nil {
		return site.BecomeSlurm(a)
	}
	return a.Slurm.Export(ctx, shell(a), c.Export)
}

// shell returns the Shell that the commands of gpusched-slurm use.
func shell(a *cli.App) engines.Shell {
	return engines.Shell{
		Environ: a.Environ, Home: a.Getenv("HOME"), UID: a.UID, Root: a.Root, Here: a.Daemon(),
		Resolve: a.Resolve, Request: func(of api.JobReply) (api.SubmitRequest, error) { return onceMore(a, of) },
		Printf: func(format string, args ...any) { a.Out.Printf(format, args...) },
		Note:   a.Note, NoteOnce: a.NoteOnce,
		Complain: func(format string, args ...any) { a.Complain(term.Clean(fmt.Sprintf(format, args...))) },
		Settings: func() (config.Config, config.Origins, error) {
			settings, origins, _, err := site.ConfigFiles{}.Read(a)
			return settings, origins, err
		},
	}
}

// onceMore returns a request for the same job again. For an array, the request covers all tasks.
func onceMore(a *cli.App, of api.JobReply) (api.SubmitRequest, error) {
	r := &submit.Resubmission{Of: of.Job, Results: of.Results}
	if of.Job.Array != nil {
		if err := wholeArray(r); err != nil {
			return api.SubmitRequest{}, err
		}
	}
	return (&submit.ResubmitCmd{}).Request(a, r)
}

// wholeArray selects all tasks of an array. It returns an error if any task has started.
func wholeArray(r *submit.Resubmission) error {
	for _, g := range append(r.Results.Tasks, api.TaskGroup{Tasks: r.Results.ForgottenTasks, State: job.Completed}) {
		list, err := job.ParseTasks(g.Tasks)
		if err != nil && g.Tasks != "" {
			return err
		}
		if g.State != "" && g.State != job.Queued && len(list) > 0 {
			return cli.Refuse(api.CodeConflict, "move the rest when they have ended: 'gpusched cancel' it, then 'gpusched resubmit' its tasks on Slurm",
				"%s of the array have started", cli.Count(len(list), "task"))
		}
		r.Tasks = append(r.Tasks, list...)
	}
	slices.Sort(r.Tasks)
	r.Tasks = slices.Compact(r.Tasks)
	runs := job.TaskRuns(r.Tasks)
	if len(runs) > job.MaxRanges {
		return cli.Refuse(api.CodeUsage, "submit it there in parts", "its numbers have more than %d gaps", job.MaxRanges)
	}
	r.Runs = runs
	return nil
}
