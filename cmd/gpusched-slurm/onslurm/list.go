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

// queue asks squeue for jobs. If no job has one of the ids in args, the answer is empty.
func (e *Engine) queue(ctx context.Context, args ...string) (jobs []api.Job, err error) {
	err = e.eachRow(ctx, jobColumns, args, func(r *row) { jobs = append(jobs, e.job(r)) })
	if err != nil {
		return nil, err
	}
	return jobs, nil
}

// job translates a row to a job and adds the engine's name.
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

// eachRow calls a function for each row of squeue's answer as soon as squeue has printed the row.
// The row is valid only until the function returns. After an error, rows are missing.
func (e *Engine) eachRow(ctx context.Context, columns []column, args []string, take func(*row)) error {
	sep := newSeparator()
	how := []string{"--noheader", "--all", "--sort=-p,i", "--Format=" + format(columns, sep)}
	a := newAnswer(columns, sep, take)
	talk, err := e.slurm.Read(ctx, a, "squeue", append(how, args...)...)
	switch {
	case a.rows == 0 && isCode(err, api.CodeNotFound):
		return nil
	case err != nil && !isCode(err, api.CodeNotFound):
		return err
	case a.rows == 0 && hasError(talk):
		return unreadable("squeue", talk)
	}
	return a.finish()
}

func isCode(err error, code api.Code) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Code == code
}

// list returns the jobs that match, in the daemon's order: running jobs, waiting jobs by Slurm's
// rank, and then ended jobs, newest first. The waiting tasks of an array share one entry.
func (e *Engine) list(ctx context.Context, q api.ListQuery) (api.ListReply, error) {
	reply := api.ListReply{Schema: api.Schema, Jobs: []api.Job{}, GPUs: []api.GPU{}}
	all, omitted, err := e.selected(ctx, q)
	if err != nil {
		return reply, err
	}
	if q.Recent {
		reply.Recent = e.countRecent(all)
	}
	reply.Omitted = omitted
	ended, waiting, kept := 0, 0, 0
	for i := range all {
		j := &all[i]
		switch {
		case !isSelected(j, &q):
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
		reply.Jobs = all[:kept] // not nil, because JSON writes nil as null
	}
	if q.Reasons != "" {
		shown := append(slices.Clip(reply.Jobs), e.othersOnGPUs(ctx, reply.Jobs, &q)...)
		reply.GPUs = e.locate(ctx, shown, reply.Omitted)
		copy(reply.Jobs, shown)
	}
	return reply, nil
}

// othersOnGPUs returns the jobs that have GPUs but that the query itself does not select.
func (e *Engine) othersOnGPUs(ctx context.Context, asked []api.Job, q *api.ListQuery) (others []api.Job) {
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
		return nil // the query still has its own jobs
	}
	return slices.DeleteFunc(live, func(j api.Job) bool { return has[j.ID] })
}

// onGPUs makes squeue list the jobs that have GPUs at present.
const onGPUs = "--states=running,suspended,completing"

// selected returns the jobs of a query in order. The result may contain other jobs; the caller
// drops them with isSelected. If more than q.Waiting jobs wait, the others are only counted; the
// second result is their number.
func (e *Engine) selected(ctx context.Context, q api.ListQuery) (list []api.Job, omitted int, err error) {
	if q.IDs != "" {
		list, err = e.byNames(ctx, strings.Split(q.IDs, ","))
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
	columns, waiting := jobColumns, 0
	if q.Names {
		columns = keyColumns
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

// byStart orders running jobs by their start.
func byStart(x, y *api.Job) int { return x.StartedAt.Compare(y.StartedAt) }

// isSelected reports whether a query selects a job.
func isSelected(j *api.Job, q *api.ListQuery) bool {
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

// countRecent counts the caller's jobs that ended within the last hour. It sees only jobs that
// Slurm's controller has not forgotten.
func (e *Engine) countRecent(list []api.Job) *api.Recent {
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

// lines returns one line for each job that matches. The line has the job's name. If q.Form is
// FormOwners, it also has the owner, and waiting jobs come before running jobs.
func (e *Engine) lines(ctx context.Context, q api.ListQuery) (lines []byte, err error) {
	q.Names = true
	reply, err := e.list(ctx, q)
	owners := q.Form == api.FormOwners
	if owners {
		slices.Reverse(reply.Jobs)
	}
	for i := range reply.Jobs {
		switch j := &reply.Jobs[i]; {
		case owners && isPossible(j, q.For):
			lines = fmt.Appendf(lines, "%s %d\n", displayName(j), j.UID)
		case !owners && j.Engine != "":
			lines = fmt.Appendf(lines, "%s:%s\n", j.Engine, displayName(j))
		case !owners:
			lines = append(append(lines, displayName(j)...), '\n')
		}
	}
	return lines, err
}
