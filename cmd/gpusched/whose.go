package main

import (
	"context"
	"fmt"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// whoseFlags choose jobs by whose they are, where none is named.
type whoseFlags struct {
	All  bool   `name:"all" xor:"whose" help:"All jobs that this can be done to; those of others only if you are an administrator."`
	Mine bool   `name:"mine" xor:"whose" help:"All such jobs of your own."`
	User string `name:"user" short:"u" placeholder:"USER" xor:"whose" help:"All such jobs of this account."`
	Yes  bool   `name:"yes" short:"y" help:"Do not ask for confirmation."`
}

// choose reports whether jobs are meant by whose they are, and refuses a command
// line that names jobs as well, or says neither. Such as is one that would do.
func (w *whoseFlags) choose(ids []string, suchAs string) (bool, error) {
	whole := w.All || w.Mine || w.User != ""
	switch {
	case whole && len(ids) > 0:
		return false, usagef("name jobs, or use --all, --mine or --user, not both")
	case !whole && len(ids) == 0:
		return false, refuse(api.CodeUsage, "such as: "+suchAs, "no job is named")
	}
	return whole, nil
}

// jobs are those of them that an action can be done to, once the user has
// confirmed. That there is none is said.
func (w *whoseFlags) jobs(ctx context.Context, a *app, verb, which string, fits func(api.Job) bool) ([]api.Job, error) {
	q := api.ListQuery{User: w.User}
	whose := "there is no"
	switch {
	case w.Mine:
		q.UID, whose = &a.uid, "you have no"
	case w.User != "":
		whose = w.User + " has no"
	}
	reply, err := a.client.List(ctx, q)
	if err != nil {
		return nil, err
	}
	var list []api.Job
	for _, j := range reply.Jobs {
		if fits(j) {
			list = append(list, j)
		}
	}
	if len(list) == 0 {
		a.note("%s job that %s", whose, which)
		return nil, nil
	}
	return list, a.confirm(verb, list, w.Yes)
}

// confirm asks whether something is to be done to so many jobs.
func (a *app) confirm(verb string, jobs []api.Job, yes bool) error {
	users := map[string]bool{}
	for _, j := range jobs {
		users[j.User] = true
	}
	question := fmt.Sprintf("%s %s of %s?", verb, count(len(jobs), "job"), count(len(users), "user"))
	switch {
	case yes:
		return nil
	case !a.interactive:
		return refuse(api.CodeUsage, "confirm with -y", "%s there is no terminal to ask on", question)
	}
	a.err.Printf("%s [y/N] ", question)
	a.err.W.Flush()
	if said := a.answer(); said != "y" && said != "yes" {
		return refuse(api.CodeInternal, "", "nothing was done")
	}
	return nil
}

// manyFlags are the jobs that a command does something to, by name or by whose
// they are.
type manyFlags struct {
	whoseFlags
	outputFlags

	IDs []string `arg:"" optional:"" name:"id" help:"The jobs."`
}

// act does it to all of them that it can be done to, and says what became of each.
func (c *manyFlags) act(ctx context.Context, a *app, verb, which string, fits func(api.Job) bool,
	do func(ctx context.Context, id string) (api.JobReply, error), said func(api.Job) string) error {
	named := jobsFlags{outputFlags: c.outputFlags, IDs: c.IDs}
	whole, err := c.choose(c.IDs, fmt.Sprintf("gpusched %s 42, or gpusched %s --mine", verb, verb))
	if err != nil {
		return err
	}
	if whole {
		jobs, err := c.jobs(ctx, a, verb, which, fits)
		if err != nil {
			return err
		}
		named.IDs = each(jobs, nameOfJob)
	}
	return named.act(ctx, a, do, said)
}

// What can be done to which jobs.
func isWaiting(j api.Job) bool { return j.State == job.Queued && j.HeldBy == "" }
func isHeld(j api.Job) bool {
	return j.State == job.Queued && (j.HeldBy != "" || j.Array != nil && j.Array.TooManyFailed)
}
func isSuspended(j api.Job) bool { return !j.SuspendedAt.IsZero() }
func runs(j api.Job) bool        { return j.State == job.Running && j.SuspendedAt.IsZero() }
