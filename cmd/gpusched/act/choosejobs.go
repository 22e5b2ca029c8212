package act

import (
	"context"
	"fmt"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// ownerFlags select jobs by their user.
type ownerFlags struct {
	All  bool   `name:"all" xor:"whose"`
	Mine bool   `name:"mine" xor:"whose"`
	User string `name:"user" short:"u" placeholder:"USER" xor:"whose"`
	Yes  bool   `name:"yes" short:"y"`
}

// choose reports whether the flags select the jobs. It returns an error if the command line both
// names jobs and has such flags, or does neither. The argument suchAs is a correct command line for
// the error message.
func (w *ownerFlags) choose(ids []string, suchAs string) (bool, error) {
	whole := w.All || w.Mine || w.User != ""
	switch {
	case whole && len(ids) > 0:
		return false, cli.Usagef("name jobs, or use --all, --mine or --user, not both")
	case !whole && len(ids) == 0:
		return false, cli.Refuse(api.CodeUsage, "such as: "+suchAs, "no job is named")
	}
	return whole, nil
}

// action describes a command and the jobs that it can act on.
type action struct {
	verb, which string
	command     job.CommandKind
}

// jobs returns the selected jobs that the command can act on, after the user has confirmed. If
// there are no such jobs, it prints a message.
func (w *ownerFlags) jobs(ctx context.Context, a *cli.App, k action) ([]string, error) {
	q := api.ListQuery{User: w.User}
	whose := "there is no"
	switch {
	case w.Mine:
		q.UID, whose = &a.UID, "you have no"
	case w.User != "":
		whose = w.User + " has no"
	}
	ids, users, err := api.Takes(ctx, a.Client, q, k.command)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		a.Note("%s job that %s", whose, k.which)
		return nil, nil
	}
	of := ""
	switch {
	case w.Mine:
		of = " of yours"
	case w.User != "":
		of = " of " + w.User
	case users > 1:
		of = " of " + cli.Count(users, "user")
	}
	return ids, confirm(a, k.verb, cli.Count(len(ids), "job")+of, w.Yes)
}

func confirm(a *cli.App, verb, jobs string, yes bool) error {
	question := verb + " " + jobs + "?"
	switch {
	case yes:
		return nil
	case !a.Interactive:
		return cli.Refuse(api.CodeUsage, "confirm with -y", "%s there is no terminal to ask on", question)
	}
	a.Err.Printf("%s [y/N] ", question)
	a.Err.W.Flush()
	if said := a.Answer(); said != "y" && said != "yes" {
		return cli.Refuse(api.CodeInternal, "", "nothing was done")
	}
	return nil
}

// manyFlags are the arguments of a command that acts on jobs selected by name or by user.
type manyFlags struct {
	ownerFlags
	cli.OutputFlags

	IDs []string `arg:"" optional:"" name:"id" help:"The jobs."`
}

// actOnChosen carries out the command for the named jobs, or for all jobs that the flags select and
// the command can act on.
func (c *manyFlags) actOnChosen(ctx context.Context, a *cli.App, k action, said func(api.Job) string) error {
	named := jobsFlags{OutputFlags: c.OutputFlags, IDs: c.IDs}
	whole, err := c.choose(c.IDs, fmt.Sprintf("gpusched %s 42, or gpusched %s --mine", k.verb, k.verb))
	if err != nil {
		return err
	}
	if whole {
		if named.IDs, err = c.jobs(ctx, a, k); err != nil {
			return err
		}
		brief := k.command == job.CommandHold && c.IsBrief()
		return acted(ctx, a, c.OutputFlags, said, func() ([]api.Job, error) {
			return actOnMany(ctx, a, named.IDs, api.ManyRequest{Command: k.command, Brief: brief})
		})
	}
	return named.actOnJobs(ctx, a, api.ManyRequest{Command: k.command}, said)
}

// isWaiting reports whether a job is queued and not held.
func isWaiting(j api.Job) bool { return j.State == job.Queued && j.HeldBy == "" }

func runs(j api.Job) bool { return j.State == job.Running && j.SuspendedAt.IsZero() }
