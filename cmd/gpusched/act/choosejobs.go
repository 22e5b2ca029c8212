package client

import (
	"context"
	"fmt"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// whoseFlags choose jobs by whose they are, where none is named.
type whoseFlags struct {
	All  bool   `name:"all" xor:"whose"`
	Mine bool   `name:"mine" xor:"whose"`
	User string `name:"user" short:"u" placeholder:"USER" xor:"whose"`
	Yes  bool   `name:"yes" short:"y"`
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

// kindOfJobs are the jobs that a command means where whole queues are named.
type kindOfJobs struct {
	verb, which string
	command     job.CommandKind
}

// jobs are those of them that an action can be done to, once the user has
// confirmed. That there is none is said.
func (w *whoseFlags) jobs(ctx context.Context, a *app, k kindOfJobs) ([]string, error) {
	q := api.ListQuery{User: w.User}
	whose := "there is no"
	switch {
	case w.Mine:
		q.UID, whose = &a.uid, "you have no"
	case w.User != "":
		whose = w.User + " has no"
	}
	ids, users, err := api.Takes(ctx, a.client, q, k.command)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		a.note("%s job that %s", whose, k.which)
		return nil, nil
	}
	of := ""
	switch {
	case w.Mine:
		of = " of yours"
	case w.User != "":
		of = " of " + w.User
	case users > 1:
		of = " of " + count(users, "user")
	}
	return ids, a.confirm(k.verb, count(len(ids), "job")+of, w.Yes)
}

// confirm asks whether something is to be done to jobs.
func (a *app) confirm(verb, jobs string, yes bool) error {
	question := verb + " " + jobs + "?"
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
func (c *manyFlags) act(ctx context.Context, a *app, k kindOfJobs, said func(api.Job) string) error {
	named := jobsFlags{outputFlags: c.outputFlags, IDs: c.IDs}
	whole, err := c.choose(c.IDs, fmt.Sprintf("gpusched %s 42, or gpusched %s --mine", k.verb, k.verb))
	if err != nil {
		return err
	}
	if whole {
		if named.IDs, err = c.jobs(ctx, a, k); err != nil {
			return err
		}
		brief := k.command == job.CommandHold && c.isBrief()
		return a.acted(ctx, c.outputFlags, said, func() ([]api.Job, error) {
			return a.actOnMany(ctx, named.IDs, api.ManyRequest{Command: k.command, Brief: brief})
		})
	}
	return named.act(ctx, a, api.ManyRequest{Command: k.command}, said)
}

// owns reports whether a job is one's own: another account may have had the number when it was submitted.
func (a *app) owns(j *api.Job) bool { return j.UID == a.uid && j.UIDNow == "" }

// What can be done to which jobs.
func isWaiting(j api.Job) bool { return j.State == job.Queued && j.HeldBy == "" }

// waitsAgain reports whether it is an array whose tasks have all started, and of which some wait again.
func waitsAgain(j api.Job) bool {
	return j.State == job.Spawned && j.Array != nil && j.Array.Waiting > 0
}

func runs(j api.Job) bool { return j.State == job.Running && j.SuspendedAt.IsZero() }
