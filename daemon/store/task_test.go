package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A task is found by its name, and an array's tasks by the array.
func TestTasks(t *testing.T) {
	s := openNew(t)
	ctx := context.Background()
	commit(t, s, job.Record{Job: array(7, 3), Payload: payload()}, job.Record{Job: taskOf(running(12), 7, 3)}, job.Record{Job: taskOf(queued(9), 7, 5)},
		job.Record{Job: taskOf(queued(10), 7, 0)}, job.Record{Job: queued(11), Payload: payload()})
	mustCheck(t, s)
	id, err := s.Task(ctx, 7, 3)
	requireEqual(t, err, id, 12)
	for _, name := range []job.Task{{Array: 7, Index: 4}, {Array: 8, Index: 3}, {Array: 11, Index: 0}} {
		if _, err := s.Task(ctx, name.Array, name.Index); !errors.Is(err, ErrNotFound) {
			t.Errorf("task %v: %v", name, err)
		}
	}
	if err := s.Commit(ctx, []job.Record{{Job: taskOf(queued(13), 7, 3)}}); !errors.Is(err, ErrInvalid) {
		t.Fatalf("a task became a job twice: %v", err)
	}
}

// A job that ended has started when any of its attempts has, an array when any of
// its tasks has. One that has not ended, or is not there, has no end.
func TestEnds(t *testing.T) {
	s := openNew(t)
	over := func(j *job.Job, how job.State) *job.Job {
		j.State, j.Result = how, &job.Result{Outcome: how}
		return j
	}
	again := over(running(3), job.Cancelled) // after it had run, while it waited to run again
	placed := over(running(4), job.Cancelled)
	placed.Attempt.StartedAt = time.Time{}
	commit(t, s, job.Record{Job: queued(1), Payload: payload()}, job.Record{Job: ended(2, job.Failed), Payload: payload()}, job.Record{Job: again, Payload: payload()},
		job.Record{Job: placed, Payload: payload()}, job.Record{Job: over(array(5, 1), job.Completed), Payload: payload()}, job.Record{Job: taskOf(ended(6, job.Completed), 5, 0)},
		job.Record{Job: over(array(7, 1), job.Cancelled), Payload: payload()}, job.Record{Job: taskOf(over(queued(8), job.Cancelled), 7, 0)},
		job.Record{Job: running(9), Payload: payload()})
	got, err := s.Ends(context.Background(), []job.ID{1, 2, 3, 4, 5, 7, 9, 99, 2})
	requireEqual(t, err, got, map[job.ID]job.End{
		2: {State: job.Failed, Started: true}, 3: {State: job.Cancelled, Started: true}, 4: {State: job.Cancelled},
		5: {State: job.Completed, Started: true}, 7: {State: job.Cancelled},
	})
	got, err = s.Ends(context.Background(), nil)
	requireEqual(t, err, got, map[job.ID]job.End{})
}

// Ended jobs are selected by their array.
func TestEndedFilters(t *testing.T) {
	s := openNew(t)
	ctx := context.Background()
	task := taskOf(ended(6, job.Failed), 5, 2)
	commit(t, s, job.Record{Job: array(5, 0), Payload: payload()}, job.Record{Job: task})
	list, err := s.Ended(ctx, job.Query{Array: 5})
	requireEqual(t, err, list, []job.Job{*task})
}
