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

// A job has started when any of its attempts has, an array when any of its
// tasks has.
func TestStates(t *testing.T) {
	s := openNew(t)
	again := running(3)
	again.State = job.Queued
	again.Attempt.EndedAt = epoch
	placed := running(4)
	placed.State, placed.Attempt.StartedAt = job.Starting, time.Time{}
	commit(t, s, job.Record{Job: queued(1), Payload: payload()}, job.Record{Job: ended(2, job.Failed), Payload: payload()}, job.Record{Job: again, Payload: payload()},
		job.Record{Job: placed, Payload: payload()}, job.Record{Job: array(5, 1), Payload: payload()}, job.Record{Job: taskOf(running(6), 5, 0)},
		job.Record{Job: array(7, 1), Payload: payload()}, job.Record{Job: taskOf(queued(8), 7, 0)})
	got, err := s.States(context.Background(), []job.ID{1, 2, 3, 4, 5, 7, 99, 2})
	requireEqual(t, err, got, map[job.ID]Status{
		1: {job.Queued, false}, 2: {job.Failed, true}, 3: {job.Queued, true}, 4: {job.Starting, false}, 5: {job.Queued, true}, 7: {job.Queued, false},
	})
	got, err = s.States(context.Background(), nil)
	requireEqual(t, err, got, map[job.ID]Status{})
}

// Ended jobs are selected by their array.
func TestEndedFilters(t *testing.T) {
	s := openNew(t)
	ctx := context.Background()
	task := taskOf(ended(6, job.Failed), 5, 2)
	commit(t, s, job.Record{Job: array(5, 0), Payload: payload()}, job.Record{Job: task})
	list, err := s.Ended(ctx, Filter{Array: 5})
	requireEqual(t, err, list, []job.Job{*task})
}
