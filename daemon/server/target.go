package server

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// target is the job or task that a name such as "12" or "7_3" means.
type target struct {
	id   job.ID    // 0 if the task is not a job yet
	task *job.Task // nil if the name has no "_"
}

// jobFinder finds the jobs and tasks that requests name.
type jobFinder struct {
	backend func(context.Context) Backend
}

// targetInPath returns the target that {id} in the path names.
func (f *jobFinder) targetInPath(r *request) (target, error) {
	return f.target(r.Context(), r.PathValue("id"))
}

func (f *jobFinder) target(ctx context.Context, name string) (target, error) {
	array, number, isTask := strings.Cut(name, "_")
	id, err := job.ParseID(array)
	if err != nil {
		return target{}, usagef("%q is not a job id: ids are numbers such as 42, or 7_3 for a task of an array (see 'gpusched list')", name)
	}
	if !isTask {
		return target{id: id}, nil
	}
	index, err := strconv.ParseUint(number, 10, 31)
	if err != nil || strconv.FormatUint(index, 10) != number {
		return target{}, usagef("%q is not a task: use the array's id and the task's number, such as 7_3", name)
	}
	t := target{task: &job.Task{Array: id, Index: int(index)}}
	t.id, err = f.backend(ctx).Task(ctx, id, int(index))
	return t, err
}

// jobInPath returns the job that {id} in the path names, with the given details.
func (f *jobFinder) jobInPath(r *request, details job.Query) (job.JobView, error) {
	t, err := f.targetInPath(r)
	if err != nil {
		return job.JobView{}, err
	}
	return f.view(r.Context(), t, details)
}

// view returns a target with the given details, which take most of the time. If a task is not a job
// yet, view returns the task as its array describes it.
func (f *jobFinder) view(ctx context.Context, t target, details job.Query) (job.JobView, error) {
	if t.id != 0 {
		return f.jobByID(ctx, t.id, details)
	}
	array, err := f.jobByID(ctx, t.task.Array, details)
	if err != nil {
		return job.JobView{}, err
	}
	return f.taskOf(ctx, array, *t.task, details)
}

// taskOf returns a task for which a look-up has found no job.
func (f *jobFinder) taskOf(ctx context.Context, array job.JobView, t job.Task, details job.Query) (job.JobView, error) {
	if n, a := array.Tasks, array.Request.Array; n != nil && a != nil && n.Passed(a.Position(t.Index)) {
		return f.pastTask(ctx, t, details)
	}
	return futureTask(array, t), nil
}

// pastTask is called if a look-up has found no job of a task, although the array counts the task as
// a job. Either the task has become a job since the look-up, or its job has been forgotten.
func (f *jobFinder) pastTask(ctx context.Context, t job.Task, want job.Query) (job.JobView, error) {
	id, err := f.backend(ctx).Task(ctx, t.Array, t.Index)
	if err != nil {
		return job.JobView{}, err
	}
	if id != 0 {
		return f.jobByID(ctx, id, want)
	}
	live, err := f.backend(ctx).Query(ctx, job.Query{Array: t.Array}) // the task's job may not be on disk yet
	if err != nil {
		return job.JobView{}, err
	}
	for _, v := range live.Jobs {
		if v.Task != nil && *v.Task == t {
			return f.jobByID(ctx, v.ID, want)
		}
	}
	return job.JobView{}, &api.Error{
		Code: api.CodeNotFound, Message: fmt.Sprintf("task %s has ended and its job has been forgotten", t),
		Hint: fmt.Sprintf("'gpusched show %d' says how many tasks completed", t.Array),
	}
}

func (f *jobFinder) jobByID(ctx context.Context, id job.ID, want job.Query) (job.JobView, error) {
	want.IDs = []job.ID{id}
	v, err := f.backend(ctx).Query(ctx, want)
	if err != nil {
		return job.JobView{}, err
	}
	if len(v.Jobs) == 0 {
		return job.JobView{}, &api.Error{
			Code: api.CodeNotFound, Message: fmt.Sprintf("there is no job %d", id), Hint: "see 'gpusched list -a'",
		}
	}
	return v.Jobs[0], nil
}

// futureTask returns a task that is not a job. The task waits if its array waits. If not, the task
// was cancelled before it started.
func futureTask(array job.JobView, t job.Task) job.JobView {
	v := array
	v.ID, v.Attempt, v.Attempts = 0, nil, nil
	v.Task, v.Tasks = &t, nil
	by, alone, next := array.StopBy, false, true
	if n, a := array.Tasks, array.Request.Array; n != nil && a != nil {
		at := a.Position(t.Index)
		if who, dropped := n.DroppedBy(at); dropped {
			by, alone = who, true
		}
		next = n.Next == at
	}
	switch {
	case alone || array.State != job.Queued:
		v.State, v.Reasons, v.Start = job.Cancelled, nil, job.ExpectedStart{}
		v.Result = &job.Result{Outcome: job.Cancelled, By: by}
	case !next:
		v.Start = job.ExpectedStart{} // the array's expected start is the start of its next task, not of this task
	}
	return v
}

// waitFor blocks until the target has ended.
func (f *jobFinder) waitFor(ctx context.Context, name string) (job.JobView, error) {
	t, err := f.target(ctx, name)
	if err != nil {
		return job.JobView{}, err
	}
	if t.id == 0 {
		if t.id, err = f.backend(ctx).AwaitTask(ctx, t.task.Array, t.task.Index); err != nil {
			return job.JobView{}, err
		}
	}
	if t.id == 0 { // the task will not become a job, or its job is not on disk yet
		v, err := f.view(ctx, t, job.Query{Reasons: true})
		if err != nil || v.State.Terminal() || v.ID == 0 {
			return v, err
		}
		t.id = v.ID
	}
	for {
		v, err := f.backend(ctx).Wait(ctx, t.id)
		if err != nil || v.State.Terminal() {
			return v, err
		}
		// v may be an array that has not ended, but starts no more tasks. Its reasons say why.
		if v, err = f.jobByID(ctx, t.id, job.Query{Reasons: true}); err != nil || v.AtRest() {
			return v, err
		}
	}
}

// maxTaskNames limits the tasks that one listing names, because the server looks up each task.
const maxTaskNames = 256

// parseNames reads a list of names such as "12,14-16,7_3". Each name is complete: in "7_3,12", the
// name 12 means job 12. For two tasks, people may type 7_3,5. The command line then sends 7_3,7_5.
// The second result has the tasks that are not jobs yet, each once.
func (f *jobFinder) parseNames(ctx context.Context, text string) (ids []job.ID, future []job.Task, err error) {
	var plain []string
	ids = []job.ID{}
	room := maxTaskNames
	for part := range strings.SplitSeq(text, ",") {
		if !strings.Contains(part, "_") {
			plain = append(plain, part)
			continue
		}
		if room--; room < 0 {
			return nil, nil, usagef("a listing names at most %d tasks: list the array instead", maxTaskNames)
		}
		t, err := f.target(ctx, part)
		switch {
		case err != nil:
			return nil, nil, err
		case t.id != 0:
			ids = append(ids, t.id)
		case !slices.Contains(future, *t.task):
			future = append(future, *t.task)
		}
	}
	if plain == nil {
		return ids, future, nil
	}
	list, err := job.ParseIDs(strings.Join(plain, ","))
	if err != nil {
		return nil, nil, usagef("%v", err)
	}
	return append(ids, list...), future, nil
}
