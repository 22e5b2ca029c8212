package servertest

import (
	"context"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Task returns the id of the job that a task has become.
func (b *Backend) Task(_ context.Context, array job.ID, index int) (job.ID, error) {
	err := b.lock()
	defer b.mu.Unlock()
	if err != nil {
		return 0, err
	}
	a := b.find(array)
	if a == nil {
		return 0, noJob(array)
	}
	if t := b.task(array, index); t != nil {
		return t.ID, nil
	}
	if a.Request.Array == nil || !a.Request.Array.Has(index) {
		return 0, job.Refuse("not-found/task", job.Task{Array: array, Index: index}, array)
	}
	return 0, nil
}

// AwaitTask waits until StartTask or a cancel has decided whether the task becomes a job.
func (b *Backend) AwaitTask(ctx context.Context, array job.ID, index int) (job.ID, error) {
	for {
		id, err := b.Task(ctx, array, index)
		if err != nil || id != 0 {
			return id, err
		}
		a, changed, err := b.look(array)
		if err != nil || !a.MayStart(index) || a.AtRest() {
			return 0, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// Lately counts an account's jobs that have ended since the given time.
func (b *Backend) Lately(_ context.Context, uid int, since time.Time) (out job.Lately, err error) {
	err = b.lock()
	defer b.mu.Unlock()
	for _, v := range b.View.Jobs {
		if v.Owner.UID == uid && v.State.Terminal() && !v.ChangedAt.Before(since) {
			out.Add(&v.Job)
		}
	}
	return out, err
}

// Results returns the results of an array's ended tasks,
// with run times computed from their attempts.
func (b *Backend) Results(_ context.Context, array job.ID) (out job.Results, err error) {
	err = b.lock()
	defer b.mu.Unlock()
	for _, v := range b.View.Jobs {
		if v.Task == nil || v.Task.Array != array || v.Result == nil {
			continue
		}
		ran := time.Duration(0)
		if a := v.Attempt; a != nil {
			ran = a.EndedAt.Sub(a.StartedAt)
		}
		out.Add(v.Task.Index, v.Result, ran)
	}
	return out, err
}

// StartTask makes a task a job, and runs the job on the GPUs in Place.
func (b *Backend) StartTask(array job.ID, index int) job.ID {
	defer b.mu.Unlock()
	if b.lock() != nil {
		return 0
	}
	t := b.addTask(array, index)
	t.State, t.Attempt = job.Running, &job.Attempt{Number: 1, GPUs: b.Place, PlacedAt: b.Now, StartedAt: b.Now}
	b.news()
	return t.ID
}

func (b *Backend) task(array job.ID, index int) *job.JobView {
	for i := range b.View.Jobs {
		if t := b.View.Jobs[i].Task; t != nil && *t == (job.Task{Array: array, Index: index}) {
			return &b.View.Jobs[i]
		}
	}
	return nil
}

// addTask makes a task a waiting job. Pointers into View.Jobs are invalid afterwards.
func (b *Backend) addTask(array job.ID, index int) *job.JobView {
	a := b.find(array)
	if a.Tasks == nil {
		a.Tasks = &job.Tasks{}
	}
	counts := a.Tasks.Pass()
	a.Tasks = &counts
	if counts.Next == a.Request.Array.Size() {
		a.State = job.Spawned
	}
	t := job.JobView{Job: a.Job}
	t.State, t.Life = job.Queued, job.Life{QueuedAt: b.Now, Task: &job.Task{Array: array, Index: index}}
	for _, old := range b.View.Jobs {
		t.ID = max(t.ID, old.ID+1)
	}
	b.View.Jobs = append(b.View.Jobs, t)
	return &b.View.Jobs[len(b.View.Jobs)-1]
}
