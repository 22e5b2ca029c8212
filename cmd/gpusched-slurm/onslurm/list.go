package onslurm

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// queue asks squeue for jobs. That no job has a number is an empty answer.
func (e *Engine) queue(ctx context.Context, args ...string) (jobs []api.Job, err error) {
	err = e.eachRow(ctx, wholeJob, args, func(r *row) { jobs = append(jobs, e.job(r)) })
	if err != nil {
		return nil, err
	}
	return jobs, nil
}

// job is that of a row, as it is named here.
func (e *Engine) job(r *row) api.Job {
	j := r.job()
	j.Engine = e.Names
	return j
}

func (e *Engine) rowsOf(ctx context.Context, columns []column, args ...string) (list []row, err error) {
	err = e.eachRow(ctx, columns, args, func(r *row) { list = append(list, *r) })
	if err != nil {
		return nil, err
	}
	return list, nil
}

// eachRow tells the rows of squeue's answer while that is printed, each until the next one. An error says that they
// are not all of them, or none.
func (e *Engine) eachRow(ctx context.Context, columns []column, args []string, take func(*row)) error {
	between := parting()
	how := []string{"--noheader", "--all", "--sort=-p,i", "--Format=" + format(columns, between)}
	a := newAnswer(columns, between, take)
	talk, err := e.slurm.Read(ctx, a, "squeue", append(how, args...)...)
	switch {
	case a.rows == 0 && isCode(err, api.CodeNotFound):
		return nil
	case err != nil && !isCode(err, api.CodeNotFound):
		return err
	case a.rows == 0 && failing(talk):
		return unreadable("squeue", talk)
	}
	return a.end()
}

func isCode(err error, code api.Code) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Code == code
}

// list returns the jobs that match, as the daemon would: those that run, those that wait in the order in
// which Slurm ranks them, then ended ones, the newest first. Of an array what has not started is one entry.
func (e *Engine) list(ctx context.Context, q api.ListQuery) (api.ListReply, error) {
	reply := api.ListReply{Schema: api.Schema, Jobs: []api.Job{}, GPUs: []api.GPU{}}
	all, omitted, err := e.selected(ctx, q)
	if err != nil {
		return reply, err
	}
	if q.Recent {
		reply.Recent = e.recent(all)
	}
	reply.Omitted = omitted
	ended, waiting, kept := 0, 0, 0
	for i := range all {
		j := &all[i]
		switch {
		case !matches(j, &q):
			continue
		case j.State.Terminal() && q.IDs == "":
			if ended++; ended > q.Ended {
				continue
			}
		case j.State == job.Queued && q.Waiting > 0:
			if waiting++; waiting > q.Waiting {
				reply.Omitted++
				continue
			}
		}
		all[kept] = *j
		kept++
	}
	if kept > 0 {
		reply.Jobs = all[:kept] // in a document [], not null
	}
	if q.Reasons != "" {
		shown := append(slices.Clip(reply.Jobs), e.besides(ctx, reply.Jobs, &q)...)
		reply.GPUs = e.placed(ctx, shown, reply.Omitted)
		copy(reply.Jobs, shown)
	}
	return reply, nil
}

// besides are the jobs that are on GPUs and that a query leaves out.
func (e *Engine) besides(ctx context.Context, asked []api.Job, q *api.ListQuery) (others []api.Job) {
	if q.UID == nil && q.User == "" && q.Name == "" && q.Like == "" && q.IDs == "" && q.Array == 0 &&
		len(q.States) == 0 && len(q.Tags) == 0 {
		return nil
	}
	has := map[job.ID]bool{}
	for i := range asked {
		has[asked[i].ID] = true
	}
	live, err := e.queue(ctx, onGPUs)
	if err != nil {
		return nil // the jobs are what was wanted
	}
	return slices.DeleteFunc(live, func(j api.Job) bool { return has[j.ID] })
}

// onGPUs has squeue tell the jobs that have their GPUs.
const onGPUs = "--states=running,suspended,completing"

// selected are the jobs of a query in their order, and perhaps others. Of jobs that wait behind as many as are asked
// for it makes none, and counts them as omitted.
func (e *Engine) selected(ctx context.Context, q api.ListQuery) (list []api.Job, omitted int, err error) {
	if q.IDs != "" {
		list, err = e.named(ctx, strings.Split(q.IDs, ","))
		return list, 0, err
	}
	var args []string
	if q.Ended > 0 || q.Recent {
		args = append(args, "--states=all")
	}
	switch {
	case q.Array != 0:
		args = append(args, "--jobs="+q.Array.String())
	case q.UID != nil:
		args = append(args, "--user="+strconv.Itoa(*q.UID))
	case q.User != "":
		args = append(args, "--user="+q.User)
	}
	columns, waiting := wholeJob, 0
	if q.Names {
		columns = whichJob
	}
	all := q.Name == "" && q.Like == "" && len(q.States) == 0 && len(q.Tags) == 0 && q.Array == 0
	err = e.eachRow(ctx, columns, args, func(r *row) {
		if all && q.Waiting > 0 && stateOf(r[colState]) == job.Queued {
			if waiting++; waiting > q.Waiting {
				omitted++
				return
			}
		}
		list = append(list, e.job(r))
	})
	if err != nil {
		return nil, 0, err
	}
	if q.Ended > 0 {
		list = e.withPast(ctx, list, q)
	}
	api.InListOrder(list, byStart)
	return list, omitted, nil
}

// byStart is the order of jobs that run.
func byStart(x, y *api.Job) int { return x.StartedAt.Compare(y.StartedAt) }

// matches reports whether a job is one of those that a query asks for.
func matches(j *api.Job, q *api.ListQuery) bool {
	switch {
	case q.UID != nil && j.UID != *q.UID && j.User != "":
		return false
	case q.User != "" && j.User != q.User,
		q.Name != "" && j.Name != q.Name,
		len(q.States) > 0 && !slices.Contains(q.States, j.State),
		q.Array != 0 && (j.Task == nil || j.Task.Array != q.Array),
		!q.Since.IsZero() && j.State.Terminal() && j.EndedAt.Before(q.Since):
		return false
	}
	for key, value := range q.Tags {
		if j.Tags[key] != value {
			return false
		}
	}
	like, err := path.Match(q.Like, j.Name)
	return q.Like == "" || err == nil && like
}

// recent counts the caller's jobs that ended within the last hour, as far as Slurm's controller still has them.
func (e *Engine) recent(list []api.Job) *api.Recent {
	r := &api.Recent{Since: time.Now().Add(-time.Hour).UTC()}
	for i := range list {
		j := &list[i]
		if j.UID != e.uid || !j.State.Terminal() || j.EndedAt.Before(r.Since) {
			continue
		}
		r.Ended++
		if j.State != job.Completed && j.State != job.Cancelled {
			r.Failed++
		}
	}
	return r
}

// lines has what each job that matches is called, or that and its owner, those that wait before those that run.
func (e *Engine) lines(ctx context.Context, q api.ListQuery) (lines []byte, err error) {
	q.Names = true
	reply, err := e.list(ctx, q)
	owners := q.Form == api.FormOwners
	if owners {
		slices.Reverse(reply.Jobs)
	}
	for i := range reply.Jobs {
		switch j := &reply.Jobs[i]; {
		case owners && takes(j, q.For):
			lines = fmt.Appendf(lines, "%s %d\n", called(j), j.UID)
		case !owners && j.Engine != "":
			lines = fmt.Appendf(lines, "%s:%s\n", j.Engine, called(j))
		case !owners:
			lines = append(append(lines, called(j)...), '\n')
		}
	}
	return lines, err
}
