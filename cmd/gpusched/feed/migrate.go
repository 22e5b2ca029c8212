package client

import (
	"context"
	"fmt"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
)

// migrateCmd moves waiting jobs to another engine.
type migrateCmd struct{ engines.Move }

func (*migrateCmd) About() About {
	return About{
		Host: RunThere, Hosts: OneAtATime, Jobs: OneAtATime,
		Slurm: NotForSlurm("it moves jobs from this machine's queue", "'gpusched --on local migrate --to slurm ID...'"),
	}
}

func (c *migrateCmd) Run(ctx context.Context, a *app) error {
	switch {
	case c.Mine == (len(c.IDs) > 0):
		return usagef("name the jobs, or --mine for all of yours: gpusched migrate --to slurm --mine")
	case a.slurm == nil:
		return a.becomeSlurm()
	}
	a.restoreLimits()
	stays, err := a.slurm.Migrate(ctx, a.shell(), c.Move)
	if err == nil && stays != "" {
		err = exitStatus(stays.ExitStatus())
	}
	return err
}

// exportCmd writes this machine down for another scheduler.
type exportCmd struct {
	Slurm exportSlurmCmd `cmd:"" usage:"[options]" help:"Write slurm.conf and the files that go with it."`
}

func (*exportCmd) About() About {
	return About{
		Host: OnlyHere, Hosts: OneAtATime,
		Slurm: NotForSlurm("it writes down the settings of this machine", "'gpusched --on local export slurm'"),
	}
}

// exportSlurmCmd writes the files of a Slurm that is as this machine.
type exportSlurmCmd struct{ engines.Export }

func (c *exportSlurmCmd) Run(ctx context.Context, a *app) error {
	if a.slurm == nil {
		return a.becomeSlurm()
	}
	return a.slurm.Export(ctx, a.shell(), c.Export)
}

// shell is what commands that gpusched-slurm alone has do their work with.
func (a *app) shell() engines.Shell {
	return engines.Shell{
		Environ: a.environ, Home: a.getenv("HOME"), UID: a.uid, Root: a.root, Here: a.daemon(),
		Resolve: a.resolve, Request: a.onceMore,
		Printf: func(format string, args ...any) { a.out.Printf(format, args...) },
		Note:   a.note, NoteOnce: a.noteOnce,
		Complain: func(format string, args ...any) { a.complain(term.Clean(fmt.Sprintf(format, args...))) },
		Settings: func() (config.Config, config.Origins, error) {
			settings, origins, _, err := configFiles{}.read(a)
			return settings, origins, err
		},
	}
}

// onceMore asks for a job once more, of an array for all its tasks.
func (a *app) onceMore(of api.JobReply) (api.SubmitRequest, error) {
	r := &again{of: of.Job, results: of.Results}
	if of.Job.Array != nil {
		if err := r.all(); err != nil {
			return api.SubmitRequest{}, err
		}
	}
	return (&resubmitCmd{}).request(a, r)
}

// all has every task of an array, none of which may have started.
func (r *again) all() error {
	for _, g := range append(r.results.Tasks, api.TaskGroup{Tasks: r.results.ForgottenTasks, State: job.Completed}) {
		list, err := job.ParseTasks(g.Tasks)
		if err != nil && g.Tasks != "" {
			return err
		}
		if g.State != "" && g.State != job.Queued && len(list) > 0 {
			return refuse(api.CodeConflict, "what is left of it can be moved when they have ended: 'gpusched cancel' it, then 'gpusched resubmit' tasks on Slurm",
				"%s of the array have started", count(len(list), "task"))
		}
		r.tasks = append(r.tasks, list...)
	}
	slices.Sort(r.tasks)
	r.tasks = slices.Compact(r.tasks)
	runs := job.TaskRuns(r.tasks)
	if len(runs) > job.MaxRanges {
		return refuse(api.CodeUsage, "submit it there in parts", "its numbers have more than %d gaps", job.MaxRanges)
	}
	r.runs = runs
	return nil
}
