package onslurm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// jobByID returns a job. If there is none, it returns an error with api.CodeNotFound.
func (e *Engine) jobByID(ctx context.Context, id string) (api.Job, error) {
	list, err := e.byNames(ctx, []string{id})
	if err != nil {
		return api.Job{}, err
	}
	if len(list) == 0 {
		return api.Job{}, &api.Error{Code: api.CodeNotFound, Message: "Slurm has no job " + id,
			Hint: "see 'gpusched list -a'; jobs that ended long ago are in Slurm's accounting alone, if it has one"}
	}
	return list[0], nil
}

// show returns one job with its GPUs and, if the caller owns it, the path of its output. If the
// caller asks for results, show adds the results of an array's tasks.
func (e *Engine) show(ctx context.Context, id string, results bool) (api.JobReply, error) {
	j, err := e.jobByID(ctx, id)
	if err != nil {
		return api.JobReply{}, err
	}
	e.addDetails(ctx, id, &j)
	reply := api.JobReply{Schema: api.Schema, Job: j}
	if !results || j.Array == nil {
		return reply, nil
	}
	list, err := e.queue(ctx, "--states=all", "--jobs="+id)
	if err == nil {
		reply.Results = &api.Results{Tasks: groupTasks(list)}
	}
	return reply, err
}

// trimManager removes the engine's name from a job's id.
func trimManager(id string) string { return strings.TrimPrefix(id, Manager+":") }

// groupTasks combines tasks that have the same state and the same result.
func groupTasks(list []api.Job) (out []api.TaskGroup) {
	for i := range list {
		j := &list[i]
		g := api.TaskGroup{State: j.State, Count: 1}
		switch {
		case j.Array != nil:
			g.Count, g.Sentence = j.Array.Size, j.Why
			g.Tasks, _, _ = strings.Cut(j.Array.Spec, "%")
		case j.Task != nil:
			g.Tasks, g.Started = fmt.Sprint(j.Task.Index), true
		default:
			continue
		}
		if j.Result != nil {
			g.Code, g.Signal, g.Sentence = j.Result.Code, j.Result.Signal, j.Result.Sentence
		}
		if at := sameGroup(out, g); at != nil {
			at.Count, at.Tasks = at.Count+g.Count, at.Tasks+","+g.Tasks
			continue
		}
		out = append(out, g)
	}
	return out
}

func sameGroup(list []api.TaskGroup, g api.TaskGroup) *api.TaskGroup {
	for i := range list {
		if x := &list[i]; x.State == g.State && x.Code == g.Code && x.Signal == g.Signal && x.Started == g.Started {
			return x
		}
	}
	return nil
}

// checkDependencies returns an error if a job waits for something that cannot happen. Slurm would
// start such a job at once, because for Slurm an unknown or forgotten job counts as completed.
func (e *Engine) checkDependencies(ctx context.Context, after []job.Dependency) error {
	ids := job.Each(after, func(d job.Dependency) string { return d.Job.String() })
	if len(ids) == 0 {
		return nil
	}
	found, err := e.lookUp(ctx, ids)
	if err != nil {
		return err
	}
	for _, d := range after {
		j, ok := found[d.Job.String()]
		switch {
		case !ok:
			return &api.Error{Code: api.CodeNotFound, Message: fmt.Sprintf("Slurm has no job %d to wait for", d.Job), Hint: "see 'gpusched list -a'"}
		case !j.State.Terminal():
		case d.Kind == job.AfterOK && j.State != job.Completed, d.Kind == job.AfterFail && j.State == job.Completed:
			return &api.Error{Code: api.CodeNever, Message: fmt.Sprintf("can never start: it %s, which has %s",
				waitsFor([]job.Dependency{d}), j.State), Hint: fmt.Sprintf("see 'gpusched show %d'", d.Job)}
		}
	}
	return nil
}

// The delays between two polls while a caller waits for a job. They grow, because each poll loads
// the controller of a whole cluster.
const (
	firstPoll = 250 * time.Millisecond
	lastPoll  = 5 * time.Second
)

// wait blocks until the job, or every task of an array, has ended. Once wait has seen the job, it
// continues while the controller is down or fails over, whatever the controller answers meanwhile.
func (e *Engine) wait(ctx context.Context, id string) (api.JobReply, error) {
	var last *api.Job
	for pause := firstPoll; ; pause = min(pause*3/2, lastPoll) {
		j, err := e.jobByID(ctx, id)
		switch {
		case err == nil && j.State.Terminal():
			return api.JobReply{Schema: api.Schema, Job: j}, nil
		case err == nil:
			last = &j
		case isCode(err, api.CodeNotFound) && last != nil:
			return api.JobReply{Schema: api.Schema, Job: forgottenJob(*last)}, nil
		case ctx.Err() != nil: // the poll failed because the caller cancelled it
		case last == nil || isCode(err, api.CodeForbidden) || isCode(err, api.CodeUsage):
			return api.JobReply{}, err
		}
		if err := api.Pause(ctx, pause); err != nil {
			return api.JobReply{}, err
		}
	}
}

// forgottenJob returns a job that has vanished from Slurm. Its result is unknown.
func forgottenJob(j api.Job) api.Job {
	j.State = job.Lost
	res := job.Result{Outcome: job.Lost}
	j.Result = withSentence(api.Result{Result: res, Code: res.Code(),
		Said: job.Text("ended, and Slurm has forgotten how (MinJobAge in slurm.conf, and there is no accounting)")})
	return j
}
