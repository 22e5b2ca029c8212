package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// spoil makes a state file with jobs, closes it and damages it.
func spoil(t *testing.T, damage func(t *testing.T, path string)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	s := openAt(t, path)
	fill(t, s, 2000, payload())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	damage(t, path)
	return path
}

// overwrite writes n bytes 0xA5 at an offset of the file.
func overwrite(t *testing.T, path string, offset, n int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(strings.Repeat("\xa5", int(n))), offset); err != nil {
		t.Fatal(err)
	}
}

// Open finds damage, says what is damaged, and does not change the file.
func TestDamagedFileIsRefused(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, path string){
		"no database": func(t *testing.T, path string) { overwrite(t, path, 0, 100) },
		"cut off": func(t *testing.T, path string) {
			if err := os.Truncate(path, 64<<10); err != nil {
				t.Fatal(err)
			}
		},
		"pages overwritten": func(t *testing.T, path string) { overwrite(t, path, 8<<10, 400<<10) },
		"another program":   func(t *testing.T, path string) { execFile(t, path, "PRAGMA application_id=7") },
		"only the log is left": func(t *testing.T, path string) {
			if err := errors.Join(os.Rename(path, path+"-wal")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := spoil(t, damage)
			_, err := Open(context.Background(), path, Options{})
			var c *CorruptError
			if !errors.As(err, &c) || !errors.Is(err, job.ErrDamaged) || Retryable(err) {
				t.Fatalf("error %v", err)
			}
			if c.Path != path || !strings.Contains(err.Error(), "moves the file aside") {
				t.Fatalf("error %v", err)
			}
		})
	}
}

// Only root can read the files, whatever the umask is. This includes the files that SQLite makes.
func TestFilesArePrivate(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	s := openNew(t)
	commit(t, s, job.Record{Job: queuedJob(1), Payload: payload()})
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		st, err := os.Stat(s.path + suffix)
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", suffix, st, err)
		}
	}
	path := s.path
	if err := errors.Join(s.Close(), os.Chmod(path, 0o644)); err != nil {
		t.Fatal(err)
	}
	openAt(t, path)
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("reopened: %v, %v", st, err)
	}
}

// A path with characters of SQLite's URI syntax is taken literally.
func TestPathIsNotInterpreted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b%20?mode=memory&x=#1'")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, filepath.Join(dir, "state.db"))
	commit(t, s, job.Record{Job: queuedJob(1), Payload: payload()})
	if st, err := os.Stat(filepath.Join(dir, "state.db")); err != nil || st.Size() == 0 {
		t.Fatalf("%v, %v", st, err)
	}
	if err := s.disk.backup(context.Background(), s.write, filepath.Join(dir, "copy")); err != nil {
		t.Fatal(err)
	}
}

// Two daemons never share a file. When the daemon that has the lock ends, the lock is free.
func TestOneOwner(t *testing.T) {
	s := openNew(t)
	if _, err := Open(context.Background(), s.path, Options{}); !errors.Is(err, ErrLocked) {
		t.Fatalf("error %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openAt(t, s.path)
}

// A forked child does not keep the lock before its exec, although until then it has a duplicate of
// the descriptor.
func TestLockIsNotKeptByAChild(t *testing.T) {
	s := openNew(t)
	held, err := syscall.Dup(int(s.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(held)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openAt(t, s.path)
	const closeOnExec = 1 // FD_CLOEXEC
	again, err := disk{}.takeLock(s.path + "2")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock(again)
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, again.Fd(), syscall.F_GETFD, 0)
	if errno != 0 || flags&closeOnExec == 0 {
		t.Errorf("the lock's descriptor outlives an exec: flags %#x, %v", flags, errno)
	}
}

// A reader sees what the running daemon has committed, and changes nothing.
func TestReadOnly(t *testing.T) {
	s := openNew(t)
	commit(t, s, job.Record{Job: endedJob(1, job.Completed), Payload: payload()})
	r, err := Open(context.Background(), s.path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	mustCheck(t, r)
	commit(t, s, job.Record{Job: endedJob(2, job.Failed), Payload: payload()})
	list, err := r.Ended(context.Background(), job.Query{})
	requireEqual(t, err, list, []job.Job{*endedJob(2, job.Failed), *endedJob(1, job.Completed)})
	if err := r.Commit(context.Background(), []job.Record{{Job: queuedJob(3), Payload: payload()}}); err == nil {
		t.Fatal("a read-only store took a record")
	}
	if _, err := Open(context.Background(), filepath.Join(t.TempDir(), "none.db"), Options{ReadOnly: true}); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a missing file: %v", err)
	}
}

func TestMissingJob(t *testing.T) {
	s := openNew(t)
	ctx := context.Background()
	if _, err := s.Job(ctx, 9); !errors.Is(err, errNotFound) {
		t.Error(err)
	}
	if _, err := s.Payload(ctx, 9); !errors.Is(err, job.ErrNoPayload) || !errors.Is(err, sql.ErrNoRows) {
		t.Error(err)
	}
	if list, err := s.Attempts(ctx, 9); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	if _, found, err := s.ByKey(ctx, 1001, "none"); err != nil || found {
		t.Error(found, err)
	}
}

// Every connection has the settings that the promises about the disk depend on.
func TestConnectionSettings(t *testing.T) {
	s := openNew(t)
	for _, db := range []*sql.DB{s.write, s.read} {
		for name, want := range map[string]string{
			"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "wal_autocheckpoint": "0", "trusted_schema": "0", "busy_timeout": "10000",
		} {
			var got string
			if err := db.QueryRow("PRAGMA " + name).Scan(&got); err != nil || got != want {
				t.Errorf("%s is %q, not %q: %v", name, got, want, err)
			}
		}
	}
	if _, err := s.read.Exec("DELETE FROM payloads"); err == nil {
		t.Error("a reading connection can write")
	}
}

// The log does not grow without end, and its checkpoints do not disturb anything.
func TestLogIsFoldedIn(t *testing.T) {
	t.Parallel()
	s := openNew(t)
	fill(t, s, 5000, typicalPayload())
	st, err := os.Stat(s.path + "-wal")
	if err != nil || st.Size() > 16<<20 {
		t.Fatalf("the log has %d bytes, %v", st.Size(), err)
	}
}
