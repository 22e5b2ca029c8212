package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// A commit with an invalid record among others changes nothing, and its error is not retryable.
// Later commits succeed (invariant 1).
func TestBadRecordChangesNothing(t *testing.T) {
	t.Parallel()
	with := func(f func(j *job.Job)) *job.Job {
		j := queuedJob(7)
		f(j)
		return j
	}
	for name, bad := range map[string]job.Record{
		"no id":                 {Job: queuedJob(0), Payload: payload()},
		"unknown state":         {Job: with(func(j *job.Job) { j.State = "dreaming" }), Payload: payload()},
		"ended without result":  {Job: with(func(j *job.Job) { j.State = job.Failed }), Payload: payload()},
		"result before its end": {Job: with(func(j *job.Job) { j.Result = &job.Result{Outcome: job.Failed} }), Payload: payload()},
		"attempt 0":             {Job: with(func(j *job.Job) { j.Attempt = &job.Attempt{} }), Payload: payload()},
		"request key used":      {Job: with(func(j *job.Job) { j.Key = "k" }), Payload: payload()},
		"NUL in an argument":    {Job: queuedJob(7), Payload: &job.Payload{Program: contract.Program{Argv: []string{"a\x00b"}}}},
		"payload of no job":     {Payload: payload()},
		"payload of a task":     {Job: taskOf(queuedJob(7), 1, 3), Payload: payload()},
		"task of no array":      {Job: taskOf(queuedJob(7), 99, 3)},
		"reservation 0":         {Reservation: &job.Reservation{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := openNew(t)
			first := queuedJob(1)
			first.Key = "k"
			commit(t, s, job.Record{Job: first, Payload: payload()})
			err := s.Commit(context.Background(), []job.Record{{Job: endedJob(1, job.Completed)}, {Job: queuedJob(5), Payload: payload()}, bad})
			if !errors.Is(err, job.ErrInvalid) || Retryable(err) {
				t.Fatalf("error %v", err)
			}
			st, err := s.Load(context.Background())
			requireEqual(t, err, st.Jobs, []job.Job{*first})
			if st.NextID != 2 {
				t.Fatalf("next id %d", st.NextID)
			}
			commit(t, s, job.Record{Job: queuedJob(2), Payload: payload()})
			mustCheck(t, s)
		})
	}
}

// A full disk refuses commits and keeps its content. Commits succeed again once there is space
// (invariant 2).
func TestFullDisk(t *testing.T) {
	s := openNew(t)
	ctx := context.Background()
	commit(t, s, job.Record{Job: queuedJob(1), Payload: payload()})
	if _, err := s.write.ExecContext(ctx, "PRAGMA max_page_count=30"); err != nil {
		t.Fatal(err)
	}
	var err error
	id := job.ID(2)
	for ; err == nil; id++ {
		err = s.Commit(ctx, []job.Record{{Job: queuedJob(id), Payload: typicalPayload()}})
	}
	refused := id - 1
	for range 3 {
		if err = s.Commit(ctx, []job.Record{{Job: queuedJob(refused), Payload: typicalPayload()}}); !Retryable(err) {
			t.Fatalf("error %v", err)
		}
	}
	if _, err := s.Job(ctx, refused); !errors.Is(err, errNotFound) {
		t.Fatalf("job %d was refused: %v", refused, err)
	}
	if _, err := s.write.ExecContext(ctx, "PRAGMA max_page_count=1000000"); err != nil {
		t.Fatal(err)
	}
	commit(t, s, job.Record{Job: queuedJob(refused), Payload: typicalPayload()})
	mustCheck(t, s)
}

// A commit fails if the disk becomes read-only just after the commit's sync, or just before it, so
// that the sync is only reported as done (invariant 1).
func TestCommitOnADiskThatBecomesReadOnly(t *testing.T) {
	t.Parallel()
	for _, tells := range []string{"statfs", "resize file"} {
		var asked, fails int
		judge := func(op, _ string) error {
			if op != tells {
				return nil
			}
			if asked++; asked == fails {
				return syscall.EROFS
			}
			return nil
		}
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), Options{Judge: judge})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		fails = asked + 2 // the first call after the sync
		records := []job.Record{{Job: queuedJob(1), Payload: payload()}}
		if err := s.Commit(t.Context(), records); !errors.Is(err, syscall.EROFS) || !Retryable(err) {
			t.Errorf("%s: error %v", tells, err)
		}
		commit(t, s, records...)
		mustCheck(t, s)
	}
}

// The file of the last ids changes its length before and after each commit. Such a change succeeds
// only if the disk accepts changes, whatever else the disk reports. If it fails because the disk is
// full, the commit succeeds all the same, and the next change makes the length differ again.
func TestEveryCommitProvesThatTheDiskTakesChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	var lengths []int64
	var fails error
	judge := func(op, at string) error {
		if op != "resize file" {
			return nil
		}
		st, err := os.Stat(at)
		if err == nil && fails == nil {
			lengths = append(lengths, st.Size())
		}
		refused := fails
		if full := fails == syscall.ENOSPC || fails == syscall.EDQUOT; full {
			fails = nil // only once: the second change of that commit succeeds
		}
		return errors.Join(err, refused)
	}
	for id := job.ID(1); id < 10; id += 5 {
		s, err := Open(t.Context(), path, Options{Judge: judge})
		if err != nil {
			t.Fatal(err)
		}
		record := func(n job.ID) []job.Record { return []job.Record{{Job: queuedJob(id + n), Payload: payload()}} }
		commit(t, s, record(0)...)
		for _, fails = range []error{syscall.ENOSPC, syscall.EDQUOT} {
			commit(t, s, record(1)...)
		}
		for _, fails = range []error{syscall.EIO, syscall.EROFS, syscall.EUCLEAN, syscall.ESTALE, syscall.ENOMEM} {
			if err := s.Commit(t.Context(), record(2)); !errors.Is(err, fails) || !Retryable(err) {
				t.Errorf("of %v the commit says %v", fails, err)
			}
		}
		fails = nil
		commit(t, s, record(3)...)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := os.Stat(lastPath(path)); err != nil || len(lengths) < 8 {
		t.Fatalf("%v; %d changes", err, len(lengths))
	} else if lengths = append(lengths, st.Size()); len(slices.Compact(slices.Clone(lengths))) != len(lengths) {
		t.Errorf("a change was none: the lengths were %d", lengths)
	}
}

// Nothing is written to a read-only disk, although it may accept writes to open files. Everything
// is written once the disk is writable again (invariants 1 and 2).
func TestReadOnlyDiskGetsNothing(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"statfs", "resize file"} { // the calls that show that the disk is read-only
		t.Run(op, func(t *testing.T) { readOnlyDiskGetsNothing(t, op) })
	}
}

func readOnlyDiskGetsNothing(t *testing.T, tells string) {
	t.Parallel()
	path, readOnly := filepath.Join(t.TempDir(), "state.db"), false
	judge := func(op, _ string) error {
		if op == tells && readOnly {
			return syscall.EROFS
		}
		return nil
	}
	s, err := Open(t.Context(), path, Options{Judge: judge})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	commit(t, s, job.Record{Job: queuedJob(1), Payload: payload()})
	files := func() (all []byte) {
		for _, name := range []string{path, path + "-wal", idsPath(path)} {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, data...)
		}
		return all
	}
	before := files()
	readOnly = true
	second := []job.Record{{Job: queuedJob(2), Payload: payload()}}
	for range 3 {
		if err := s.Commit(t.Context(), second); !errors.Is(err, syscall.EROFS) || !Retryable(err) {
			t.Errorf("error %v", err)
		}
	}
	if _, err := s.Forget(t.Context(), History{Age: time.Hour}, time.Now()); !errors.Is(err, syscall.EROFS) {
		t.Errorf("forgetting: %v", err)
	}
	if err := s.checkpointIfWritable(t.Context()); !errors.Is(err, syscall.EROFS) {
		t.Errorf("taking the log into the file: %v", err)
	}
	if !bytes.Equal(files(), before) {
		t.Error("something was written")
	}
	readOnly = false
	commit(t, s, second...)
	mustCheck(t, s)
}

// Ids are not given out again after a restart, even if no job is left (invariant 3).
func TestNextIDOnlyGrows(t *testing.T) {
	s := openNew(t)
	ctx := context.Background()
	commit(t, s, job.Record{Job: queuedJob(41), Payload: payload()})
	commit(t, s, job.Record{Job: queuedJob(3), Payload: payload()})
	for _, table := range []string{"payloads", "jobs"} {
		if _, err := s.write.ExecContext(ctx, "DELETE FROM "+table); err != nil {
			t.Fatal(err)
		}
	}
	path := s.path
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	st, err := s.Load(ctx)
	if err != nil || st.NextID != 42 {
		t.Fatalf("next id %d, %v", st.NextID, err)
	}
	commit(t, s, job.Record{Job: queuedJob(7), Payload: payload()})
	if st, err = s.Load(ctx); err != nil || st.NextID != 42 {
		t.Fatalf("next id %d, %v", st.NextID, err)
	}
}

// Reads see the last committed state while a commit is under way, and a commit does not wait for a
// long read (invariant 5).
func TestReadersAndWriterDoNotWait(t *testing.T) {
	s := openNew(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	commit(t, s, job.Record{Job: queuedJob(1), Payload: payload()})

	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(ctx, "UPDATE jobs SET user = 'mallory'"); err != nil {
		t.Fatal(err)
	}
	j, err := s.Job(ctx, 1)
	requireEqual(t, err, j, *queuedJob(1))
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}

	snapshot, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Rollback()
	before, err := jobsIn(ctx, snapshot, "")
	requireEqual(t, err, before, []job.Job{*queuedJob(1)})
	for id := range job.ID(400) {
		commit(t, s, job.Record{Job: queuedJob(id + 2), Payload: payload()})
	}
	after, err := jobsIn(ctx, snapshot, "")
	requireEqual(t, err, after, before)
}

// A cancelled context stops a commit only before the commit begins.
func TestCancelledContext(t *testing.T) {
	s := openNew(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Commit(ctx, []job.Record{{Job: queuedJob(1), Payload: payload()}}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := s.Commit(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Job(context.Background(), 1); !errors.Is(err, errNotFound) {
		t.Fatal(err)
	}
}
