//go:build machine

package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gpusched/gpusched/packaging/test/vm"
)

// build compiles the command machine and returns its path.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "machine")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

func code(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err == nil {
		return 0
	}
	return exit.ExitCode()
}

func TestExitCodeIsTheCommands(t *testing.T) {
	program := build(t)
	for want, args := range map[int][]string{
		0:             {"box", "--", "true"},
		7:             {"box", "--", "sh", "-c", "exit 7"},
		exitUsage:     {"cloud"},
		exitNoMachine: {"-deb", "/no/such.deb", "box", "--", "true"},
	} {
		out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		if got := code(t, err); got != want {
			t.Errorf("%q: code %d, want %d\n%s", args, got, want, out)
		}
	}
}

// Invariant 1: an interrupt removes the machine.
func TestInterruptRemovesTheMachine(t *testing.T) {
	program := build(t)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		cmd := exec.CommandContext(t.Context(), program, "box", "--", "sh", "-c", "echo up; exec sleep infinity")
		cmd.Stderr = t.Output()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
			t.Fatalf("the command says %q, %v", line, err)
		}
		dir := runDirOf(t, cmd.Process.Pid)
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if got := code(t, cmd.Wait()); got != exitInterrupted {
			t.Errorf("%v: code %d, want %d", signal, got, exitInterrupted)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v: %s is still there (%v)", signal, dir, err)
		}
	}
}

// runDirOf returns the run directory whose lock the given process holds.
func runDirOf(t *testing.T, pid int) string {
	t.Helper()
	links, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		target, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(target, vm.RunRoot) && filepath.Base(target) == "lock" {
			return filepath.Dir(target)
		}
	}
	t.Fatalf("process %d holds no lock below %s", pid, vm.RunRoot)
	return ""
}
