package client

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// logsCmd prints what jobs printed.
type logsCmd struct {
	Follow  bool         `name:"follow" short:"f" xor:"ended"`
	Lines   int          `name:"lines" short:"n" placeholder:"N"`
	Attempt whichAttempt `name:"attempt" type:"attempt" placeholder:"N"`
	Failed  bool         `name:"failed" xor:"ended"`
	Times   bool         `name:"timestamps" short:"T"`

	IDs []string `arg:"" optional:"" name:"id" help:"The jobs; of an array, its tasks. Default: the job you submitted last."`
}

func (*logsCmd) About() About {
	return About{
		Host: RunThere, Hosts: OneAtATime, Jobs: Together, Slurm: ForSlurm, Usual: true, Habits: manual.OptionsOfLogs,
		Offers: Offers{Fits: func(j api.Job) bool { return !j.StartedAt.IsZero() || j.Array != nil }, Ended: true, Own: true},
	}
}

// whichAttempt is the number of a start of a job, or one of these.
type whichAttempt int

const (
	lastAttempt  whichAttempt = 0
	everyAttempt whichAttempt = -1
)

func parseAttempt(s string) (whichAttempt, error) {
	if s == "all" {
		return everyAttempt, nil
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not an attempt: use 1 for the first start of the job, or all", s)
	}
	return whichAttempt(n), nil
}

// Run prints what is there, or with -f goes on until the jobs have ended.
func (c *logsCmd) Run(ctx context.Context, a *app) error {
	if done, err := c.byEngine(ctx, a); done {
		return err
	}
	path, err := exec.LookPath("journalctl")
	if err != nil {
		return fmt.Errorf("find journalctl, which reads the output of jobs: %w", err)
	}
	ids, err := a.resolve(ctx, orLast(c.IDs))
	if err != nil {
		return err
	}
	p := &logPrinter{logsCmd: c, app: a, path: path}
	named, failed := a.actOn(ids, askedAtOnce, a.show(ctx))
	if failed != nil && len(named) == 0 {
		return failed
	}
	p.many = a.asked != nil && a.asked.labelled || len(ids) > 1 || named[0].Array != nil
	if c.Follow {
		return cmp.Or(p.follow(ctx, named), failed)
	}
	return cmp.Or(p.copyAll(ctx, named), failed)
}

// askedAtOnce is how many questions about jobs are under way together.
const askedAtOnce = 8

// orLast is what a command is about where no job is named.
func orLast(ids []string) []string {
	if len(ids) == 0 {
		return []string{"@"}
	}
	return ids
}

// chosen replaces arrays by the tasks that have become jobs, in order, and leaves out
// what --failed does not ask for.
func (p *logPrinter) chosen(ctx context.Context, named []api.Job) (list []api.Job, err error) {
	seen := map[string]bool{}
	for _, j := range named {
		some := []api.Job{j}
		if j.Array != nil {
			if some, err = p.tasks(ctx, j, mostEnded); err != nil {
				return nil, err
			}
		}
		for _, j := range some {
			if name := nameOfJob(j); !seen[name] && (!p.Failed || j.State.Terminal() && j.State != job.Completed) {
				list, seen[name] = append(list, j), true
			}
		}
	}
	return list, nil
}

// tasks are those of an array that have started, and of those that have ended the last
// so many.
func (p *logPrinter) tasks(ctx context.Context, array api.Job, ended int) ([]api.Job, error) {
	reply, err := api.List(ctx, p.client, api.ListQuery{Array: array.ID, Ended: ended})
	list := slices.DeleteFunc(reply.Jobs, func(j api.Job) bool { return j.Task == nil || j.InvocationID == "" })
	slices.SortFunc(list, func(x, y api.Job) int { return cmp.Compare(x.Task.Index, y.Task.Index) })
	return list, err
}

// copyAll prints what there is of the jobs, also of those after one of which nothing can
// be printed. That is said, and the error is the first.
func (p *logPrinter) copyAll(ctx context.Context, named []api.Job) error {
	list, err := p.chosen(ctx, named)
	switch {
	case err != nil:
		return err
	case len(list) == 0 && p.Failed:
		p.note("nothing has failed in %s", nameAll(named))
		return nil
	case len(list) == 0:
		return refuse(api.CodeConflict, fmt.Sprintf("wait for it with 'gpusched logs -f %s'", nameOfJob(named[0])),
			"%s has no output yet: no task has started%s", nameAll(named), p.because(named[0]))
	case !p.many:
		return p.copyJob(ctx, list[0])
	}
	var first error
	for _, j := range list {
		err := p.copyJob(ctx, j)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if status := exitStatus(p.finish(err)); err != nil && first == nil {
			first = status
		}
	}
	return first
}

// nameAll names jobs that nothing more can be said of.
func nameAll(list []api.Job) string {
	if len(list) == 1 && list[0].Array != nil {
		return "array " + nameOfJob(list[0])
	}
	return joined(list, ", ", func(j api.Job) string { return "job " + nameOfJob(j) })
}

// copyJob prints what there is of a job.
func (p *logPrinter) copyJob(ctx context.Context, j api.Job) error {
	if err := p.unreadable(ctx, j); err != nil {
		return err
	}
	reply, err := api.Show(ctx, p.client, nameOfJob(j), api.JobQuery{})
	if err != nil {
		return err
	}
	list, err := p.attempts(reply)
	if err != nil {
		return err
	}
	for _, at := range list {
		if p.Attempt == everyAttempt {
			p.heading(reply.Job, at)
		}
		if err := p.copyAttempt(ctx, reply.Job, at); err != nil {
			return err
		}
	}
	return nil
}

// unreadable is why none of the job's output can be printed, where that is certain.
func (p *logPrinter) unreadable(ctx context.Context, j api.Job) error {
	hidden := p.journalReadable(j)
	if hidden == nil || !p.owns(&j) {
		return hidden
	}
	if reply, err := api.Show(ctx, p.client, nameOfJob(j), api.JobQuery{}); err == nil && p.logServes(reply.Job) {
		return nil
	}
	return hidden
}

// attempts are the starts of the job that were asked for.
func (p *logPrinter) attempts(reply api.JobReply) ([]api.Attempt, error) {
	j, list := reply.Job, begun(reply)
	switch {
	case len(list) > 0 && p.Attempt == everyAttempt:
		return list, nil
	case len(list) > 0 && p.Attempt == lastAttempt:
		return list[len(list)-1:], nil
	case p.Attempt > 0:
		for _, at := range list {
			if at.Number == int(p.Attempt) {
				return []api.Attempt{at}, nil
			}
		}
		return nil, notFoundf("job %s has no attempt %d that started", nameOfJob(j), p.Attempt)
	case j.Result != nil:
		return nil, refuse(api.CodeConflict, "",
			"job %s has no output, it never started: %s", nameOfJob(j), j.Cause(p.err.Reader()))
	}
	return nil, refuse(api.CodeConflict, fmt.Sprintf("wait for it with 'gpusched logs -f %s'", nameOfJob(j)),
		"job %s has no output yet: it is %s%s", nameOfJob(j), j.State, p.because(j))
}

// begun are the attempts that started, in order.
func begun(reply api.JobReply) (list []api.Attempt) {
	for _, at := range everyPlaced(reply) {
		known := slices.ContainsFunc(list, func(b api.Attempt) bool { return b.Number == at.Number })
		if at.InvocationID != "" && !known {
			list = append(list, at)
		}
	}
	return list
}

// everyPlaced are all attempts, in order; the last one can be there twice.
func everyPlaced(reply api.JobReply) []api.Attempt {
	j := reply.Job
	current := api.Attempt{GPUs: j.GPUs, Result: j.Result, Attempt: job.Attempt{
		Number: j.Attempt, InvocationID: j.InvocationID,
		PlacedAt: j.PlacedAt, StartedAt: j.StartedAt, EndedAt: j.EndedAt,
	}}
	return append(slices.Clone(reply.Attempts), current)
}

// because is why a job waits, to follow its state.
func (a *app) because(j api.Job) string { return colon(j.Because(a.err.Reader())) }

func colon(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}
