package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// brokenFile returns the path of a damaged state file of 2000 jobs, and the contents of its files.
func brokenFile(t *testing.T) (path string, parts [][]byte) {
	t.Helper()
	path = spoil(t, func(t *testing.T, path string) { overwrite(t, path, 0, 100) })
	for _, suffix := range []string{"", ".ids"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, data)
	}
	return path, parts
}

// mend does what the daemon does at a start: it moves a damaged file aside and begins a new one.
func mend(path string, judge func(op, path string) error) error {
	open := func() error {
		s, err := Open(context.Background(), path, Options{Judge: judge})
		if err == nil {
			err = s.Close()
		}
		return err
	}
	err := open()
	if errors.Is(err, job.ErrDamaged) {
		if _, err := (disk{judge}).quarantine(path, noon); err != nil {
			return err
		}
		return open()
	}
	return err
}

var errDied = errors.New("the process has died")

// A damaged file is moved aside and a new one is begun. Meanwhile any of the store's own calls may
// fail, and the process may die at any of them. Even so, nothing is lost, the damage counts only
// once, a disk error does not count as damage, and no id is given out again (invariants 3 and 6).
func TestEveryOwnCallOfSetAsideFails(t *testing.T) {
	broken, parts := brokenFile(t)
	calls := 0
	for _, errno := range []error{syscall.EIO, syscall.ENOSPC, errDied} {
		for call := 0; ; call += slower {
			path := filepath.Join(t.TempDir(), "state.db")
			for i, suffix := range []string{"", ".ids"} {
				if err := os.WriteFile(path+suffix, parts[i], 0o600); err != nil {
					t.Fatal(err)
				}
			}
			n, hit, ever := -1, "", errno != syscall.EIO
			judge := func(op, path string) error {
				if n++; n == call || n > call && ever {
					if hit == "" {
						hit = op + " " + strings.TrimPrefix(path, filepath.Dir(broken))
					}
					return errno
				}
				return nil
			}
			err := mend(path, judge)
			if hit == "" {
				calls = call
				break
			}
			what := fmt.Sprintf("call %d (%s): %v", call, hit, errno)
			if errors.Is(err, job.ErrDamaged) {
				t.Errorf("%s: passes for damage: %v", what, err)
			}
			for range 2 {
				if err := mend(path, nil); err != nil {
					t.Errorf("%s: then: %v", what, err)
				}
			}
			requireKept(t, what, path, parts[0])
		}
	}
	t.Logf("%d calls", calls)
}

// requireKept checks that the directory of the new file has exactly one damaged file, and that the
// content of that file has not changed.
func requireKept(t *testing.T, what, path string, broken []byte) {
	t.Helper()
	list, err := Quarantined(path)
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: moved aside are %q: %v", what, list, err)
	}
	if data, err := os.ReadFile(list[0]); err != nil || !bytes.Equal(data, broken) {
		t.Errorf("%s: %q is not what was damaged: %v", what, list[0], err)
	}
	s := openAt(t, path)
	st, err := s.Load(t.Context())
	if err != nil || len(st.Jobs) != 0 || st.NextID <= 2000 {
		t.Errorf("%s: the new file has %d jobs and goes on at %d: %v", what, len(st.Jobs), st.NextID, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// If the state file is gone, and it is unknown whether there is a log, the log is not overwritten.
func TestLogThatCannotBeSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	if err := os.WriteFile(path+"-wal", []byte("log"), 0o600); err != nil {
		t.Fatal(err)
	}
	judge := func(op, at string) error {
		if op == "look" && at == path+"-wal" {
			return syscall.EIO
		}
		return nil
	}
	if _, err := Open(context.Background(), path, Options{Judge: judge}); !errors.Is(err, syscall.EIO) || !Retryable(err) {
		t.Errorf("error %v", err)
	}
	if data, err := os.ReadFile(path + "-wal"); err != nil || string(data) != "log" {
		t.Errorf("the log has %d bytes: %v", len(data), err)
	}
	if _, err := Quarantine(path, time.Now()); err != nil {
		t.Error(err)
	}
}
