package main

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// resubmitCmd queues again what has ended.
type resubmitCmd struct {
	Failed bool       `name:"failed" group:"self" help:"Only what did not complete: of an array its tasks that failed. What was cancelled is left out."`
	Change job.Change `embed:""`
	outputFlags

	IDs []string `arg:"" name:"id" help:"The jobs."`
}

// again is what is to be queued as one job: a job, or tasks of an array.
type again struct {
	of    api.Job
	tasks []int // of an array; nil: all
}

func (c *resubmitCmd) Run(ctx context.Context, a *app) error {
	list, err := c.collect(ctx, a)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		a.note("none of them has failed: nothing is queued")
	}
	var jobs []api.Job
	var failed error
	from := map[job.ID]string{}
	for _, r := range list {
		req, err := c.request(a, r)
		if err != nil {
			failed = err
			break
		}
		a.restoreLimits()
		reply, err := a.client.Submit(ctx, req)
		if err != nil {
			failed = err
			break
		}
		jobs = append(jobs, reply.Job)
		from[reply.Job.ID] = nameOfJob(r.of)
	}
	if failed != nil && len(jobs) == 0 {
		return failed
	}
	err = a.showActed(c.outputFlags, jobs, func(j api.Job) string {
		return "queued, as job " + term.Clean(from[j.ID]) + " again" + a.queuePosition(j)
	})
	return cmp.Or(failed, err) // what is queued has been said
}

// collect finds what is to be queued again: the tasks of one array together.
func (c *resubmitCmd) collect(ctx context.Context, a *app) ([]*again, error) {
	ids, err := a.resolve(ctx, c.IDs)
	if err != nil {
		return nil, err
	}
	var list []*again
	arrays := map[job.ID]*again{}
	for _, id := range ids {
		reply, err := a.client.Job(ctx, id)
		if err != nil {
			return nil, err
		}
		j := reply.Job
		if err := c.mayRepeat(a, j); err != nil {
			return nil, err
		}
		switch {
		case j.Array != nil:
			r := &again{of: j}
			if c.Failed {
				if r.tasks, err = a.failedTasks(ctx, j.ID); err != nil {
					return nil, err
				}
			}
			if !c.Failed || len(r.tasks) > 0 {
				list = append(list, r)
			}
		case c.Failed && !isFailed(j):
		case j.Task == nil:
			list = append(list, &again{of: j})
		default:
			array := j.Task.Array
			if arrays[array] == nil {
				whole, err := a.client.Job(ctx, array.String())
				if err != nil {
					return nil, err
				}
				arrays[array] = &again{of: whole.Job}
				list = append(list, arrays[array])
			}
			arrays[array].tasks = append(arrays[array].tasks, j.Task.Index)
		}
	}
	return list, nil
}

// mayRepeat refuses what has not ended, and what is somebody else's: a job runs as
// whoever submits it.
func (c *resubmitCmd) mayRepeat(a *app, j api.Job) error {
	switch {
	case j.UID != a.uid:
		return refuse(api.CodeForbidden, "a job runs as who submits it: let them do it",
			"job %s is of %s", nameOfJob(j), j.User)
	case !j.State.Terminal() && (j.Array == nil || !c.Failed):
		return refuse(api.CodeConflict, "'gpusched requeue' stops a running job and queues it again",
			"job %s has not ended: it is %s", nameOfJob(j), j.State)
	}
	return nil
}

// isFailed reports whether a job ended by itself or was stopped, and did not complete.
func isFailed(j api.Job) bool {
	return j.State.Terminal() && j.State != job.Completed && j.State != job.Cancelled
}

func (a *app) failedTasks(ctx context.Context, array job.ID) (tasks []int, err error) {
	reply, err := a.client.List(ctx, api.ListQuery{Array: array, Ended: mostEnded})
	for _, j := range reply.Jobs {
		if isFailed(j) && j.Task != nil {
			tasks = append(tasks, j.Task.Index)
		}
	}
	slices.Sort(tasks)
	return tasks, err
}

// keptCommand is how many bytes of a command are kept when its job has ended.
const keptCommand = 4096

// isCut reports whether only the beginning of a command has been kept.
func isCut(argv [][]byte) bool {
	whole := bytes.Join(argv, []byte{0})
	return len(argv) == 0 || len(whole) >= keptCommand && bytes.HasSuffix(whole, []byte("…"))
}

// request asks for the same command in the same directory, with the options that
// are to be others. The environment is that of now: the scheduler forgets that of a
// job with its end.
func (c *resubmitCmd) request(a *app, r *again) (api.SubmitRequest, error) {
	j, p := r.of, r.of.Private
	if p == nil {
		return api.SubmitRequest{}, refuse(api.CodeConflict, "submit it anew",
			"the command of job %s can't be read any more", nameOfJob(j))
	}
	if j.State.Terminal() && isCut(p.Argv) {
		return api.SubmitRequest{}, refuse(api.CodeConflict,
			"submit it anew; of a long command the beginning is kept when its job has ended",
			"the command of job %s has not been kept whole", nameOfJob(j))
	}
	grace, requeue := j.Grace, j.Requeue
	s := job.Submission{Label: j.Label, Request: j.Request}
	if s.Request.Hold, s.Request.Dedup = false, ""; j.MemDefaulted {
		s.Request.MemBytes = 0
	}
	s.Request.Begin, s.Request.After = time.Time{}, nil // those that it waited for have ended
	array, err := r.array(&c.Change)
	if err != nil {
		return api.SubmitRequest{}, err
	}
	c.Change.Apply(&s)
	env := jobEnv(p.EnvMode, nil, a.environ)
	if p.EnvMode != string(contract.EnvInherit) && !j.State.Terminal() {
		env = nil
		for _, e := range p.Env {
			env = append(env, string(e))
		}
	}
	return api.SubmitRequest{
		Key: api.NewKey(), Label: s.Label, Request: s.Request, Grace: &grace, Requeue: &requeue, Array: array,
		Argv: p.Argv, EnvMode: p.EnvMode, Env: bytesOf(env), Dir: p.Dir, Umask: p.Umask, Setup: p.Setup, TTY: p.TTY,
	}, nil
}

// array are the tasks, under their own numbers, so that each has its parameters.
func (r *again) array(ch *job.Change) (*api.ArraySpec, error) {
	a := r.of.Array
	if a == nil {
		return nil, nil
	}
	spec, _, _ := strings.Cut(a.Spec, "%")
	if strings.HasSuffix(spec, "…") && r.tasks == nil {
		return nil, refuse(api.CodeConflict, "name its tasks, such as 7_0-99, or use --failed",
			"the numbers of array %s are too many runs to be shown", nameOfJob(r.of))
	}
	if r.tasks != nil {
		slices.Sort(r.tasks)
		spec = runsOf(r.tasks)
	}
	limit := a.Limit
	if ch.ArrayLimit != nil {
		limit = *ch.ArrayLimit
	}
	if limit > 0 {
		spec += "%" + strconv.Itoa(limit)
	}
	return &api.ArraySpec{Spec: spec, Params: r.of.Private.Params}, nil
}

// runsOf writes ascending numbers as an array has them: "0-2,7".
func runsOf(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		to := i
		for to+1 < len(list) && list[to+1] == list[to]+1 {
			to++
		}
		part := strconv.Itoa(list[i])
		if to > i {
			part += "-" + strconv.Itoa(list[to])
		}
		parts, i = append(parts, part), to+1
	}
	return strings.Join(parts, ",")
}
