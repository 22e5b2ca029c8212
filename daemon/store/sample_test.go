package store

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// openAt opens the store at path and closes it at the end of the test.
func openAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func openNew(t testing.TB) *Store { return openAt(t, filepath.Join(t.TempDir(), "state.db")) }

func commit(t testing.TB, s *Store, records ...job.Record) {
	t.Helper()
	if err := s.Commit(context.Background(), records); err != nil {
		t.Fatal(err)
	}
}

func mustCheck(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Check(context.Background()); err != nil {
		t.Fatal(err)
	}
}

var epoch = time.Date(2026, 3, 4, 5, 6, 7, 80, time.UTC)

// queuedJob returns a new job just after its submission.
func queuedJob(id job.ID) *job.Job {
	return &job.Job{
		ID: id, Owner: job.Owner{UID: 1001, GID: 1001, User: "alice"}, Label: job.Label{Name: "train"},
		Request:     job.Request{GPUMilli: 1000, MemBytes: 1 << 30, TimeLimit: job.Span(time.Hour)},
		SubmittedAt: epoch, ChangedAt: epoch, State: job.Queued,
	}
}

func payload() *job.Payload {
	return &job.Payload{
		Program: contract.Program{
			Argv: []string{"python", "train.py", "--lr", "0.1"}, EnvMode: contract.EnvInherit, Env: []string{"PATH=/usr/bin:/bin", "HOME=/home/alice"},
			Dir: "/home/alice", Umask: 0o22, Setup: contract.Setup{Conda: "/opt/conda/envs/x", Command: "source é"}, Log: contract.Log{Path: "logs/%j é", Truncate: true}, TTY: true,
		},
	}
}

// runningJob returns the job of queuedJob, after its start on one GPU.
func runningJob(id job.ID) *job.Job {
	j := queuedJob(id)
	j.State = job.Running
	j.Attempt = &job.Attempt{
		Number: 1, GPUs: []job.Allocation{{GPU: contract.GPU{UUID: "GPU-0", Index: 0, Minor: 0}}}, BootID: "boot", InvocationID: "inv",
		PlacedAt: epoch, StartedAt: epoch.Add(time.Second),
	}
	return j
}

// endedJob returns the job of runningJob, after its end.
func endedJob(id job.ID, how job.State) *job.Job {
	j := runningJob(id)
	j.State = how
	j.Result = &job.Result{Outcome: how}
	j.ChangedAt = epoch.Add(time.Duration(id) * time.Minute)
	j.Attempt.EndedAt = j.ChangedAt
	j.Attempt.Result = j.Result
	return j
}

// array returns an array of ten tasks. The argument nLive is the number of tasks that are live
// jobs.
func array(id job.ID, nLive int) *job.Job {
	j := queuedJob(id)
	j.Request.Array = &job.Array{Ranges: []job.Range{{First: 0, Last: 9, Step: 1}}}
	j.Tasks = &job.Tasks{Next: nLive, Live: nLive}
	return j
}

// taskOf makes the job a task of an array.
func taskOf(j *job.Job, array job.ID, index int) *job.Job {
	j.Task = &job.Task{Array: array, Index: index}
	return j
}
