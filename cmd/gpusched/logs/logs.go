package logs

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Cmd prints the output of jobs.
type Cmd struct {
	Follow  bool             `name:"follow" short:"f" xor:"ended"`
	Lines   int              `name:"lines" short:"n" placeholder:"N"`
	Attempt cli.WhichAttempt `name:"attempt" type:"attempt" placeholder:"N"`
	Failed  bool             `name:"failed" xor:"ended"`
	Times   bool             `name:"timestamps" short:"T"`

	IDs []string `arg:"" optional:"" name:"id" help:"The jobs; of an array, its tasks. Default: the job you submitted last."`
}

func (*Cmd) About() cli.About {
	return cli.About{
		Host: cli.RunThere, Hosts: cli.OneAtATime, Jobs: cli.Together, Slurm: cli.ForSlurm, Usual: true,
		Habits: manual.OptionsOfLogs,
		Offers: cli.Offers{Fits: func(j api.Job) bool { return !j.StartedAt.IsZero() || j.Array != nil }, Ended: true,
			Own: true},
	}
}

const (
	LastAttempt cli.WhichAttempt = 0
)

// Run prints the output so far. With -f it continues until the jobs have ended.
func (c *Cmd) Run(ctx context.Context, a *cli.App) error {
	if done, err := c.byEngine(ctx, a); done {
		return err
	}
	path, err := exec.LookPath("journalctl")
	if err != nil {
		return fmt.Errorf("find journalctl, which reads the output of jobs: %w", err)
	}
	ids, err := a.Resolve(ctx, OrLast(c.IDs))
	if err != nil {
		return err
	}
	p := &Printer{Cmd: c, App: a, Path: path}
	named, failed := a.ActOn(ids, askedAtOnce, a.Show(ctx))
	if failed != nil && len(named) == 0 {
		return failed
	}
	p.Many = a.Asked != nil && a.Asked.Labelled || len(ids) > 1 || named[0].Array != nil
	if c.Follow {
		return cmp.Or(p.FollowJobs(ctx, named), failed)
	}
	return cmp.Or(p.copyAll(ctx, named), failed)
}

// askedAtOnce is how many requests about jobs run at the same time.
const askedAtOnce = 8

// OrLast returns the ids. If there are none, it returns the word for the caller's last job.
func OrLast(ids []string) []string {
	if len(ids) == 0 {
		return []string{"@"}
	}
	return ids
}

// selectJobs replaces arrays with their tasks that have become jobs, and applies --failed.
func (p *Printer) selectJobs(ctx context.Context, named []api.Job) (list []api.Job, err error) {
	seen := map[string]bool{}
	for _, j := range named {
		some := []api.Job{j}
		if j.Array != nil {
			if some, err = p.tasks(ctx, j, cli.MostEnded); err != nil {
				return nil, err
			}
		}
		for _, j := range some {
			if name := cli.NameOfJob(j); !seen[name] && (!p.Failed || j.State.Terminal() && j.State != job.Completed) {
				list, seen[name] = append(list, j), true
			}
		}
	}
	return list, nil
}

// tasks returns the started tasks of an array, but only the latest of the ended tasks.
func (p *Printer) tasks(ctx context.Context, array api.Job, ended int) ([]api.Job, error) {
	reply, err := api.List(ctx, p.Client, api.ListQuery{Array: array.ID, Ended: ended})
	list := slices.DeleteFunc(reply.Jobs, func(j api.Job) bool { return j.Task == nil || j.InvocationID == "" })
	slices.SortFunc(list, func(x, y api.Job) int { return cmp.Compare(x.Task.Index, y.Task.Index) })
	return list, err
}

// copyAll prints what each job has printed so far. It prints each error and goes on. It returns the
// first error.
func (p *Printer) copyAll(ctx context.Context, named []api.Job) error {
	list, err := p.selectJobs(ctx, named)
	switch {
	case err != nil:
		return err
	case len(list) == 0 && p.Failed:
		p.Note("nothing has failed in %s", nameAll(named))
		return nil
	case len(list) == 0:
		return cli.Refuse(api.CodeConflict, fmt.Sprintf("wait for it with 'gpusched logs -f %s'", cli.NameOfJob(named[0])),
			"%s has no output yet: no task has started%s", nameAll(named), p.Because(named[0]))
	case !p.Many:
		return p.copyJob(ctx, list[0])
	}
	var first error
	for _, j := range list {
		err := p.copyJob(ctx, j)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if status := cli.ExitStatus(p.Finish(err)); err != nil && first == nil {
			first = status
		}
	}
	return first
}

// nameAll returns a list of the jobs' names.
func nameAll(list []api.Job) string {
	if len(list) == 1 && list[0].Array != nil {
		return "array " + cli.NameOfJob(list[0])
	}
	return cli.Joined(list, ", ", func(j api.Job) string { return "job " + cli.NameOfJob(j) })
}

// copyJob prints what a job has printed so far.
func (p *Printer) copyJob(ctx context.Context, j api.Job) error {
	if err := p.unreadable(ctx, j); err != nil {
		return err
	}
	reply, err := api.Show(ctx, p.Client, cli.NameOfJob(j), api.JobQuery{})
	if err != nil {
		return err
	}
	list, err := p.attempts(reply)
	if err != nil {
		return err
	}
	for _, at := range list {
		if p.Attempt == cli.EveryAttempt {
			p.printHeading(reply.Job, at)
		}
		if err := p.copyAttempt(ctx, reply.Job, at); err != nil {
			return err
		}
	}
	return nil
}

// unreadable returns an error if it is certain that no output of the job can be printed.
func (p *Printer) unreadable(ctx context.Context, j api.Job) error {
	hidden := JournalReadable(p.App, j)
	if hidden == nil || !p.Owns(&j) {
		return hidden
	}
	if reply, err := api.Show(ctx, p.Client, cli.NameOfJob(j), api.JobQuery{}); err == nil && LogServes(p.App, reply.Job) {
		return nil
	}
	return hidden
}

// attempts returns the attempts that --attempt selects.
func (p *Printer) attempts(reply api.JobReply) ([]api.Attempt, error) {
	j, list := reply.Job, cli.Begun(reply)
	switch {
	case len(list) > 0 && p.Attempt == cli.EveryAttempt:
		return list, nil
	case len(list) > 0 && p.Attempt == LastAttempt:
		return list[len(list)-1:], nil
	case p.Attempt > 0:
		for _, at := range list {
			if at.Number == int(p.Attempt) {
				return []api.Attempt{at}, nil
			}
		}
		return nil, cli.NotFoundf("job %s has no attempt %d that started", cli.NameOfJob(j), p.Attempt)
	case j.Result != nil:
		return nil, cli.Refuse(api.CodeConflict, "",
			"job %s has no output because it never started: %s", cli.NameOfJob(j), j.Cause(p.Err.Reader()))
	}
	return nil, cli.Refuse(api.CodeConflict, fmt.Sprintf("wait for it with 'gpusched logs -f %s'", cli.NameOfJob(j)),
		"job %s has no output yet: it is %s%s", cli.NameOfJob(j), j.State, p.Because(j))
}
