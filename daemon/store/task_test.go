package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A task is found by its array and index, and the tasks of an array are found by the array.
func TestTasks(t *testing.T) {
	s := openNew(t)
	ctx := context.Background()
	commit(t, s, job.Record{Job: array(7, 3), Payload: payload()}, job.Record{Job: taskOf(runningJob(12), 7, 3)}, job.Record{Job: taskOf(queuedJob(9), 7, 5)},
		job.Record{Job: taskOf(queuedJob(10), 7, 0)}, job.Record{Job: queuedJob(11), Payload: payload()})
	mustCheck(t, s)
	id, err := s.Task(ctx, 7, 3)
	requireEqual(t, err, id, 12)
	for _, name := range []job.Task{{Array: 7, Index: 4}, {Array: 8, Index: 3}, {Array: 11, Index: 0}} {
		id, err := s.Task(ctx, name.Array, name.Index)
		requireEqual(t, err, id, 0)
	}
	if err := s.Commit(ctx, []job.Record{{Job: taskOf(queuedJob(13), 7, 3)}}); !errors.Is(err, job.ErrInvalid) {
		t.Fatalf("a task became a job twice: %v", err)
	}
}

// A job has started if its command ran in any attempt, or that of any task. A start that the machine
// prevented does not count. Jobs that have not ended are left out.
func TestEnds(t *testing.T) {
	s := openNew(t)
	began := func(j *job.Job) *job.Job {
		j.Began = true
		return j
	}
	again := began(endedJob(3, job.Cancelled))
	again.Attempt.Number, again.Attempt.StartedAt = 2, time.Time{}
	first := began(runningJob(3))
	first.State, first.Attempt.EndedAt = job.Queued, epoch
	unstarted := endedJob(4, job.Cancelled)
	endedArray := func(id job.ID) *job.Job {
		j := array(id, 1)
		j.State, j.Result = job.Cancelled, &job.Result{Outcome: job.Cancelled}
		return j
	}
	commit(t, s, job.Record{Job: queuedJob(1), Payload: payload()}, job.Record{Job: began(endedJob(2, job.Failed)), Payload: payload()},
		job.Record{Job: first, Payload: payload()}, job.Record{Job: again}, job.Record{Job: unstarted, Payload: payload()},
		job.Record{Job: array(5, 1), Payload: payload()}, job.Record{Job: taskOf(endedJob(6, job.Failed), 5, 0)}, job.Record{Job: began(endedArray(5))},
		job.Record{Job: endedArray(7), Payload: payload()}, job.Record{Job: runningJob(8), Payload: payload()})
	got, err := s.Ends(context.Background(), []job.ID{1, 2, 3, 4, 5, 7, 8, 99, 2})
	requireEqual(t, err, got, map[job.ID]job.End{
		2: {State: job.Failed, Started: true}, 3: {State: job.Cancelled, Started: true}, 4: {State: job.Cancelled},
		5: {State: job.Cancelled, Started: true}, 7: {State: job.Cancelled},
	})
	got, err = s.Ends(context.Background(), nil)
	requireEqual(t, err, got, map[job.ID]job.End{})
}

// A query can select ended jobs by their array.
func TestEndedFilters(t *testing.T) {
	s := openNew(t)
	ctx := context.Background()
	task := taskOf(endedJob(6, job.Failed), 5, 2)
	commit(t, s, job.Record{Job: array(5, 0), Payload: payload()}, job.Record{Job: task})
	list, err := s.Ended(ctx, job.Query{Array: 5})
	requireEqual(t, err, list, []job.Job{*task})
}

// The row of a task whose array is gone can never be written. The error is not retryable.
func TestRecordWithoutItsArray(t *testing.T) {
	s := openNew(t)
	task := job.Job{ID: 2, State: job.Queued, Life: job.Life{Task: &job.Task{Array: 1}}}
	err := s.Commit(t.Context(), []job.Record{{Job: &task}})
	if !errors.Is(err, job.ErrInvalid) || errors.Is(err, job.ErrDamaged) {
		t.Errorf("a task without its array: %v", err)
	}
}

// The results of an array's tasks are all read, in the order of the tasks' numbers.
func TestResults(t *testing.T) {
	s := openNew(t)
	ctx := t.Context()
	records := []job.Record{{Job: array(7, 9), Payload: payload()}, {Job: taskOf(runningJob(50), 7, 8)}}
	var want job.Results
	for i, state := range []job.State{job.Completed, job.Failed, job.Completed, job.Failed, job.TimedOut} {
		task := taskOf(endedJob(job.ID(60-i), state), 7, i)
		records = append(records, job.Record{Job: task})
		want.Add(i, task.Result, task.Attempt.EndedAt.Sub(task.Attempt.StartedAt))
	}
	commit(t, s, records...)
	got, err := s.Results(ctx, 7)
	requireEqual(t, err, got, want)
	if len(got.Ends) != 3 || len(got.Runs) != 2 {
		t.Errorf("%+v", got)
	}
	got, err = s.Results(ctx, 8)
	requireEqual(t, err, got, job.Results{})
}

// The store counts an account's jobs that ended at or after the given time, just as job.Lately
// counts jobs.
func TestLately(t *testing.T) {
	s := openNew(t)
	old, other := endedJob(3, job.Failed), endedJob(4, job.Failed)
	since := endedJob(1, job.Completed).ChangedAt
	old.ChangedAt = since.Add(-time.Nanosecond)
	other.Owner.UID++
	whole := array(7, 9)
	whole.State, whole.Result, whole.ChangedAt = job.Failed, &job.Result{Outcome: job.Failed}, since
	var records []job.Record
	var want job.Lately
	for _, j := range []*job.Job{endedJob(1, job.Completed), endedJob(2, job.TimedOut), endedJob(5, job.Cancelled), whole, taskOf(endedJob(8, job.Failed), 7, 1)} {
		records = append(records, job.Record{Job: j})
		want.Add(j)
	}
	records[3].Payload = payload()
	commit(t, s, append(records, job.Record{Job: old}, job.Record{Job: other}, job.Record{Job: runningJob(6)})...)
	got, err := s.Lately(t.Context(), endedJob(1, job.Completed).Owner.UID, since)
	requireEqual(t, err, got, want)
	if want != (job.Lately{Ended: 4, Failed: 2}) {
		t.Errorf("counted %+v", want)
	}
}
