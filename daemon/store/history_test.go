package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// When a job ends, its environment is removed from the file. If a command is long, only its
// beginning stays. An array's command stays for its tasks.
func TestEndStripsPayload(t *testing.T) {
	t.Parallel()
	s := openNew(t)
	ctx := context.Background()
	secret := payload()
	secret.Argv = []string{"echo", strings.Repeat("x", 5000), "last"}
	secret.Env = append(secret.Env, "TOKEN=hush")
	secret.Limits = []contract.Limit{{Name: "NOFILE", Soft: 1, Hard: 2}}
	commit(t, s, job.Record{Job: queuedJob(1), Payload: secret}, job.Record{Job: queuedJob(2), Payload: payload()}, job.Record{Job: array(3, 1), Payload: secret})
	commit(t, s, job.Record{Job: taskOf(runningJob(4), 3, 0)})
	commit(t, s, job.Record{Job: endedJob(1, job.Failed)}, job.Record{Job: endedJob(2, job.Completed)}, job.Record{Job: taskOf(endedJob(4, job.Completed), 3, 0)})
	y, err := s.Payload(ctx, 1)
	cut := append([]string{"echo"}, strings.Repeat("x", 4096-len("echo\x00"))+"…")
	requireEqual(t, err, y, job.Payload{Program: contract.Program{Argv: cut, EnvMode: secret.EnvMode, Dir: secret.Dir, Umask: secret.Umask, Setup: secret.Setup, Log: secret.Log, TTY: secret.TTY}})
	long := payload()
	long.Snapshot = contract.Snapshot{Dir: "/home/me/.local/state/gpusched/snapshots/1", Source: "/home/me/p", Changed: 2}
	long.Setup.Command = strings.Repeat("x", 5000)
	commit(t, s, job.Record{Job: endedJob(6, job.Failed), Payload: long})
	y, err = s.Payload(ctx, 6)
	requireEqual(t, err, y, job.Payload{Program: contract.Program{
		Argv: long.Argv, EnvMode: long.EnvMode, Dir: long.Dir, Umask: long.Umask}, Snapshot: long.Snapshot, SetupCut: true})
	y, err = s.Payload(ctx, 2)
	requireEqual(t, err, y.Argv, payload().Argv)
	if len(y.Env) != 0 {
		t.Errorf("the environment of a job that has ended: %q", y.Env)
	}
	y, err = s.Payload(ctx, 3)
	requireEqual(t, err, y, *secret)
	// If a job ends in the step that made it, no private data is left either.
	commit(t, s, job.Record{Job: endedJob(5, job.Cancelled), Payload: secret})
	if y, err = s.Payload(ctx, 5); err != nil || len(y.Env) != 0 {
		t.Errorf("%q, %v", y.Env, err)
	}
	whole := endedJob(3, job.Completed)
	whole.Request, whole.Tasks, whole.Attempt = array(3, 0).Request, &job.Tasks{Next: 10}, nil
	commit(t, s, job.Record{Job: whole})
	if y, err = s.Payload(ctx, 3); err != nil || len(y.Env) != 0 {
		t.Errorf("%q, %v", y.Env, err)
	}
	mustCheck(t, s)
}

// Data that an array shares with its tasks is written once.
func TestTaskSharesParameters(t *testing.T) {
	t.Parallel()
	s := openNew(t)
	whole := array(1, 1)
	whole.Request.Array.Params = []job.Param{{Name: "p", Values: []string{strings.Repeat("v", 10_000)}}}
	task := taskOf(runningJob(2), 1, 0)
	task.Request.Array = whole.Request.Array
	commit(t, s, job.Record{Job: whole, Payload: payload()}, job.Record{Job: task})
	var size int
	if err := s.read.QueryRow("SELECT length(request) FROM jobs WHERE id = 2").Scan(&size); err != nil || size > 1000 {
		t.Errorf("the task's request has %d bytes: %v", size, err)
	}
	if j, err := s.Job(context.Background(), 1); err != nil || len(j.Request.Array.Params) != 1 {
		t.Errorf("%+v, %v", j.Request.Array, err)
	}
}

// A job that is requeued for ever does not make the file grow for ever.
func TestKeepAttempts(t *testing.T) {
	t.Parallel()
	s := openNew(t)
	commit(t, s, job.Record{Job: queuedJob(1), Payload: payload()})
	for n := 1; n <= keepAttempts+20; n++ {
		j := runningJob(1)
		j.Attempt.Number = n
		j.Attempt.EndedAt = epoch.Add(time.Hour)
		j.State = job.Queued
		commit(t, s, job.Record{Job: j})
	}
	list, err := s.Attempts(context.Background(), 1)
	if err != nil || len(list) != keepAttempts || list[0].Number != 21 {
		t.Errorf("%d attempts are kept, the first is %d: %v", len(list), list[0].Number, err)
	}
	mustCheck(t, s)
}

// Each person keeps a limited history of the newest jobs. Live jobs stay, and so do other persons'
// jobs.
func TestForget(t *testing.T) {
	t.Parallel()
	s := openNew(t)
	ctx := context.Background()
	owner := func(j *job.Job, uid int, principal *job.Account) *job.Job {
		j.Owner.UID, j.Principal = uid, principal
		return j
	}
	var records []job.Record
	for id := job.ID(1); id <= 400; id++ {
		records = append(records, job.Record{Job: endedJob(id, job.Completed), Payload: payload()})
	}
	alice := &job.Account{UID: 1001, User: "alice"}
	for id := job.ID(401); id <= 600; id++ { // newer jobs, which also belong to alice, with a subordinate uid
		records = append(records, job.Record{Job: owner(endedJob(id, job.Completed), 100_000+int(id), alice), Payload: payload()})
	}
	for id := job.ID(601); id <= 700; id++ {
		records = append(records, job.Record{Job: owner(endedJob(id-600, job.Completed), 1002, nil), Payload: payload()})
		records[len(records)-1].Job.ID = id
	}
	whole := array(701, 1)
	records = append(records, job.Record{Job: whole, Payload: payload()}, job.Record{Job: taskOf(runningJob(702), 701, 0)}, job.Record{Job: queuedJob(703), Payload: payload()})
	commit(t, s, records...)

	if n, err := s.Forget(ctx, History{UserBytes: 1 << 30}, epoch); n != 0 || err != nil {
		t.Fatalf("%d jobs are forgotten below the bound: %v", n, err)
	}
	n, err := s.Forget(ctx, History{UserBytes: 500 << 10}, epoch)
	if err != nil || n < 100 || n > 450 {
		t.Fatalf("%d jobs are forgotten: %v", n, err)
	}
	for id, want := range map[job.ID]bool{1: false, job.ID(n): false, job.ID(n + 1): true, 600: true, 601: true, 701: true, 702: true, 703: true} {
		if _, err := s.Job(ctx, id); (err == nil) != want || err != nil && !errors.Is(err, errNotFound) {
			t.Errorf("job %d: %v", id, err)
		}
	}
	mustCheck(t, s)
	// Jobs that end from now on are added to the counts. The store does not count all jobs again.
	if again, err := s.Forget(ctx, History{UserBytes: 500 << 10}, epoch); again != 0 || err != nil {
		t.Errorf("%d more: %v", again, err)
	}
	for id := job.ID(710); id < 910; id++ {
		commit(t, s, job.Record{Job: endedJob(id, job.Completed), Payload: payload()})
	}
	if again, err := s.Forget(ctx, History{UserBytes: 500 << 10}, epoch); again < 100 || err != nil {
		t.Errorf("%d more: %v", again, err)
	}
	mustCheck(t, s)

	// The age limit removes no part of an array that has not ended.
	task := taskOf(endedJob(702, job.Completed), 701, 0)
	commit(t, s, job.Record{Job: task})
	if _, err := s.Forget(ctx, History{Age: time.Hour}, epoch.Add(365*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if id, err := s.Task(ctx, 701, 0); err != nil || id != 702 {
		t.Errorf("the task of an array that goes on is %d: %v", id, err)
	}
	// An array is removed together with its tasks.
	last := endedJob(701, job.Completed)
	last.Request, last.Tasks, last.Attempt = whole.Request, &job.Tasks{Next: 10}, nil
	task = taskOf(endedJob(702, job.Completed), 701, 0)
	task.ChangedAt, task.Attempt.EndedAt = last.ChangedAt, last.ChangedAt
	commit(t, s, job.Record{Job: task}, job.Record{Job: last})
	if _, err := s.Forget(ctx, History{Age: time.Hour}, epoch.Add(365*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	var left []job.ID
	_ = eachRow(ctx, s.read, "SELECT id FROM jobs", func(rows *sql.Rows) error {
		var id job.ID
		err := rows.Scan(&id)
		left = append(left, id)
		return err
	})
	if fmt.Sprint(left) != "[703]" {
		t.Errorf("left are %v", left)
	}
	mustCheck(t, s)
}

// The row of a task that has not ended stays, even if its array has ended. Without the row, the
// task's end could not be written.
func TestForgetLeavesLiveTasks(t *testing.T) {
	t.Parallel()
	s := openNew(t)
	whole := endedJob(1, job.Cancelled)
	whole.Request, whole.Tasks, whole.Attempt = array(1, 1).Request, &job.Tasks{Next: 2, Live: 1}, nil
	commit(t, s, job.Record{Job: array(1, 2), Payload: payload()}, job.Record{Job: taskOf(runningJob(2), 1, 0)}, job.Record{Job: taskOf(endedJob(3, job.Completed), 1, 1)})
	commit(t, s, job.Record{Job: whole})
	for _, h := range []History{{Age: time.Hour}, {UserBytes: 1}} {
		if _, err := s.Forget(t.Context(), h, epoch.Add(365*24*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, s, job.Record{Job: taskOf(endedJob(2, job.Completed), 1, 0)})
	if n, err := s.Forget(t.Context(), History{Age: time.Hour}, epoch.Add(365*24*time.Hour)); n != 2 || err != nil {
		t.Errorf("%d jobs are forgotten at last: %v", n, err)
	}
	mustCheck(t, s)
}
