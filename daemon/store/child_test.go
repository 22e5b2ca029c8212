package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// childEnv makes the test binary run one of the children below instead of the tests.
const childEnv = "GPUSCHED_STORE_CHILD"

func TestMain(m *testing.M) {
	children := map[string]func(path string) error{"commit": commitForever, "limited": commitUnderFileLimit, "steady": changeUnderFileLimit}
	if child, ok := children[os.Getenv(childEnv)]; ok {
		if err := child(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func childCommand(t *testing.T, name, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// commitForever commits groups of new and changed jobs. For the same file, the groups are always
// the same. Once a group is acknowledged, commitForever prints the last id of the group.
func commitForever(path string) error {
	s, err := Open(context.Background(), path, Options{})
	if err != nil {
		return err
	}
	st, err := s.Load(context.Background())
	if err != nil {
		return err
	}
	for id := st.NextID; ; {
		var records []job.Record
		for range 1 + int(id)%7 {
			p := payload()
			p.Argv = append(p.Argv, id.String(), strings.Repeat("x", int(id)%9000))
			records = append(records, job.Record{Job: queuedJob(id), Payload: p})
			if id%3 == 0 {
				records = append(records, job.Record{Job: endedJob(id, job.Completed)})
			}
			id++
		}
		if err := s.Commit(context.Background(), records); err != nil {
			return err
		}
		fmt.Println(id - 1)
	}
}

// If a process is killed at any moment, everything that it acknowledged is stored, and each group
// is stored whole or not at all (invariant 1).
func TestKilledWriterLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	last := job.ID(0)
	for round := range 8 {
		acked := runAndKill(t, path, 3+23*round)
		s, err := Open(context.Background(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		mustCheck(t, s)
		if acked <= last {
			t.Fatalf("acknowledged up to %d, %d before", acked, last)
		}
		last = verifyCommitted(t, s, last+1, acked)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// runAndKill lets a child commit, kills it after n acknowledged groups, and returns the last
// acknowledged id.
func runAndKill(t *testing.T, path string, n int) job.ID {
	t.Helper()
	cmd := childCommand(t, "commit", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acked := 0
	lines := bufio.NewScanner(out)
	for i := 0; lines.Scan(); i++ {
		if acked, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(err)
		}
		if i == n {
			cmd.Process.Kill()
		}
	}
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err == nil || acked == 0 {
		t.Fatalf("child ended by itself (%v) after id %d", err, acked)
	}
	return job.ID(acked)
}

// verifyCommitted checks the acknowledged jobs, from the id first to the id acked, and all later
// jobs. It returns the last id.
func verifyCommitted(t *testing.T, s *Store, first, acked job.ID) job.ID {
	t.Helper()
	ctx := context.Background()
	st, err := s.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if st.NextID <= acked {
		t.Fatalf("next id %d is not above the acknowledged %d", st.NextID, acked)
	}
	group := acked + 1 // the beginning of the next group, which was not acknowledged
	for id := first; id < st.NextID; id++ {
		j, err := s.Job(ctx, id)
		if id == group && errors.Is(err, errNotFound) {
			missing := id // the ids of an unfinished group are not given out again
			for ; id < st.NextID; id++ {
				if _, err := s.Job(ctx, id); !errors.Is(err, errNotFound) {
					t.Fatalf("job %d is there, and job %d is not: %v", id, missing, err)
				}
			}
			break
		}
		if err != nil {
			t.Fatalf("acknowledged up to %d: %v", acked, err)
		}
		if id == group {
			group += job.ID(1 + int(id)%7)
		}
		if done := j.State == job.Completed; done != (id%3 == 0) {
			t.Fatalf("job %d is %s", id, j.State)
		}
		p, err := s.Payload(ctx, id)
		if err != nil || p.Argv[4] != id.String() || len(p.Argv[5]) != int(id)%9000 {
			t.Fatalf("payload of job %d: %v, %v", id, p.Argv[:5], err)
		}
	}
	return st.NextID - 1
}

// commitUnderFileLimit fills the store until the kernel no longer lets files grow. It then raises
// the limit again.
func commitUnderFileLimit(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	ctx := context.Background()
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	if err := limitFiles(1 << 20); err != nil {
		return err
	}
	p := payload()
	p.Env = append(p.Env, "BIG="+strings.Repeat("x", 100_000))
	id := job.ID(1)
	for ; err == nil; id++ {
		err = s.Commit(ctx, []job.Record{{Job: queuedJob(id), Payload: p}})
	}
	refused := id - 1
	if !Retryable(err) {
		return fmt.Errorf("the refused write is not retryable: %w", err)
	}
	if _, err := s.Job(ctx, refused-1); err != nil {
		return fmt.Errorf("reading beside a full disk: %w", err)
	}
	if _, err := s.Job(ctx, refused); err == nil {
		return fmt.Errorf("job %d was refused and is there", refused)
	}
	if err := limitFiles(1 << 40); err != nil {
		return err
	}
	if err := s.Commit(ctx, []job.Record{{Job: queuedJob(refused), Payload: p}}); err != nil {
		return fmt.Errorf("committing after there was space again: %w", err)
	}
	fmt.Println(refused)
	return s.Check(ctx)
}

// changeUnderFileLimit keeps changing jobs while no file can grow.
func changeUnderFileLimit(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	ctx := context.Background()
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	for id := range job.ID(20) {
		if err := s.Commit(ctx, []job.Record{{Job: runningJob(id + 1), Payload: payload()}}); err != nil {
			return err
		}
	}
	if err := errors.Join(s.checkpoint(ctx), limitFiles(300<<10)); err != nil {
		return err
	}
	for i := range 2000 {
		j := runningJob(job.ID(i%20 + 1))
		j.Attempt.PeakMemBytes = int64(i)
		if err := s.Commit(ctx, []job.Record{{Job: j}}); err != nil {
			return fmt.Errorf("change %d: %w", i, err)
		}
	}
	return s.Check(ctx)
}

func limitFiles(bytes uint64) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		return err
	}
	l.Cur = min(bytes, l.Max)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)
}

// If the kernel refuses writes, the store can still be read. Once there is space, it can be written
// again (invariant 2).
func TestRefusedWritesRecover(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	out, err := childCommand(t, "limited", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	refused, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || refused < 3 {
		t.Fatalf("refused at job %q", out)
	}
	s := openAt(t, path)
	mustCheck(t, s)
	st, err := s.Load(context.Background())
	if err != nil || len(st.Jobs) != refused {
		t.Fatalf("%d jobs of %d: %v", len(st.Jobs), refused, err)
	}
}

// Jobs can still change when no file can grow: an end is recorded even on a full disk.
func TestChangesNeedNoSpace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	if err := childCommand(t, "steady", path).Run(); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, path)
	j, err := s.Job(context.Background(), 20)
	if err != nil || j.Attempt.PeakMemBytes != 1999 {
		t.Fatalf("%+v, %v", j.Attempt, err)
	}
}
