//go:build machine

package vm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// listLeftovers lists what the machine with the given id has on the host: its directory, its
// control group and its mounts.
func listLeftovers(t *testing.T, id string) []string {
	t.Helper()
	group, err := scopeNamed(id)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, path := range []string{RunRoot + "/" + id, group.path} {
		if _, err := os.Stat(path); err == nil {
			left = append(left, path)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), id) {
		left = append(left, "a mount")
	}
	return left
}

// Invariants 2 and 3. The test need not look for processes: only an empty control group can be
// removed.
func TestCloseRemovesAll(t *testing.T) {
	for _, kind := range []Kind{Box, Emulated} {
		t.Run(string(kind), func(t *testing.T) {
			m := bootMachine(t, kind)
			sh(t, m, "", "setsid sleep infinity >/dev/null 2>&1 & systemd-run -q sleep infinity")
			if left := listLeftovers(t, m.dir.id); len(left) != 2 {
				t.Errorf("while it runs there are %q, not a directory and a control group", left)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
			if left := listLeftovers(t, m.dir.id); len(left) > 0 {
				t.Errorf("Close left %q", left)
			}
			if err := m.Close(); err != nil {
				t.Errorf("closing again: %v", err)
			}
			if _, err := m.Run(t.Context(), "", nil, "true"); err == nil {
				t.Error("a closed machine runs commands")
			}
		})
	}
}

// A start that is cancelled also leaves nothing behind.
func TestCancelledStartRemovesAll(t *testing.T) {
	before := ownerless(t)
	for _, kind := range []Kind{Box, Emulated} {
		if _, err := Prepare(t.Context(), kind, options(t, kind)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		m, err := Start(ctx, kind, options(t, kind))
		cancel()
		if err == nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, %v", kind, m, err)
		}
	}
	for id := range ownerless(t) {
		if !before[id] {
			t.Errorf("the run directory %s is left", id)
		}
	}
}

// ownerless returns the run directories whose lock no process holds. Meanwhile other tests may
// start and close machines.
func ownerless(t *testing.T) map[string]bool {
	t.Helper()
	locks, err := filepath.Glob(RunRoot + "/[^.]*/lock")
	if err != nil {
		t.Fatal(err)
	}
	free := map[string]bool{}
	for _, path := range locks {
		lock, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue // the directory was removed meanwhile
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			free[filepath.Base(filepath.Dir(path))] = true
		}
		lock.Close()
	}
	return free
}

// Invariant 4: if the owner of a machine is killed, the machine ends by itself, and a later start
// removes what is left of it. The machine of a living owner stays.
func TestKilledOwner(t *testing.T) {
	if _, err := Prepare(t.Context(), Box, options(t, Box)); err != nil {
		t.Fatal(err)
	}
	living := bootMachine(t, Box)
	for _, kind := range []Kind{Box, Emulated} {
		t.Run(string(kind), func(t *testing.T) {
			owner, id := startOwner(t, kind)
			if err := owner.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			owner.Wait()
			group, err := scopeNamed(id)
			if err != nil {
				t.Fatal(err)
			}
			if err := group.awaitEmpty(30 * time.Second); err != nil {
				t.Errorf("nobody cleans up, and: %v", err)
			}
			bootMachine(t, Box)
			if left := listLeftovers(t, id); len(left) > 0 {
				t.Errorf("the next start leaves %q", left)
			}
		})
	}
	want(t, "the machine of a living owner", sh(t, living, "", "echo lives"), "lives")
}

// startOwner starts a process that owns a machine, and returns the machine's id.
func startOwner(t *testing.T, kind Kind) (*exec.Cmd, string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ownerVariable+"="+string(kind))
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		cmd.Wait()
		t.Fatalf("the owner says %q, %v", line, err)
	}
	return cmd, strings.TrimSpace(line)
}

// ownAMachine starts a machine and waits until somebody kills its process. It runs in the process
// that startOwner starts.
func ownAMachine(kind Kind) {
	m, err := Start(context.Background(), kind, Options{Log: os.Stderr, Packages: packages(kind)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(m.dir.id)
	select {}
}
