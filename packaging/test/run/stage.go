package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// stage is one step of the run.
type stage struct {
	name  string
	what  string   // for people
	argv  []string // the command
	tests bool     // it prints the events of go test -json
	needs []string // stages without which it is pointless
	lane  lane
	far   bool // it asks another machine, and exits with unreachable where that is not to be had
}

// unreachable is the exit status that is neither success nor failure.
const unreachable = 77

// stageLimit is beyond what any stage takes, and what its tests may take.
const stageLimit = 45 * time.Minute

// lane says what a stage runs beside. An emulated machine is slow, and waits
// much of its time.
type lane int

const (
	first    lane = iota // beside nothing
	native               // beside emulated
	emulated             // beside native
)

// stages are all there are, for the repository at root.
func stages(root string) ([]stage, error) {
	racy, err := concurrent(root)
	if err != nil {
		return nil, err
	}
	// The stage lint has vet look at all packages, with all tags.
	goTest := func(args ...string) []string {
		return append([]string{"go", "test", "-json", "-count=1", "-vet=off"}, args...)
	}
	return []stage{
		{name: "build", what: "the five programs", argv: []string{"make", "build"}},
		{name: "package", what: "deb and rpm", argv: []string{"make", "package"}, needs: []string{"build"}},
		{name: "lint", lane: native, what: "gofmt, go vet, staticcheck, shell syntax", argv: []string{"make", "lint"}},
		{name: "modules", lane: native, what: "the code of all modules is what go.sum says", argv: []string{"make", "modules"}},
		{name: "vulnerabilities", lane: native, what: "known ones in what the programs call", argv: []string{"sh", "packaging/vulnerabilities.sh"}, far: true},
		{name: "unit", lane: native, what: "go test ./... (fuzz tests on their stored inputs)", argv: goTest("-timeout", "15m", "./..."), tests: true},
		{name: "box", lane: native, what: "what users see, in a container with a real systemd", tests: true,
			argv: goTest("-tags", "machine", "-timeout", "40m", "./packaging/test/suite/", "-machine", "box"), needs: []string{"package"}},
		{name: "box13", lane: native, what: "on Debian 13, what another systemd or Slurm could change", tests: true,
			argv: goTest("-tags", "machine", "-timeout", "25m", "./packaging/test/suite/", "-machine", "box", "-suite", "trixie", "-quick"), needs: []string{"package"}},
		{name: "race", lane: native, what: "what runs in several goroutines, with the race detector", tests: true,
			// SQLite is C in Go's clothes: one goroutine at a time runs it, and the detector makes it twelve
			// times as slow.
			argv: goTest(append([]string{"-timeout", "15m", "-race", "-gcflags=modernc.org/...=-race=false",
				"-skip", "^(" + strings.Join(alone, "|") + ")$"}, racy...)...)},
		{name: "fuzz", lane: native, what: "every fuzz test for a second, from its stored inputs", tests: true,
			argv: []string{"go", "run", "./packaging/test/fuzz", "-json", "-fresh", "-own", "-time", "1s"}},
		{name: "package-check", lane: native, what: "lintian, rpm, modes, manual pages, completions, reproducibility",
			tests: true,
			argv:  goTest("-tags", "packages", "-timeout", "20m", "./packaging/check/"), needs: []string{"package"}},
		{name: "machines", lane: emulated, what: "the test machines themselves, and the life of the package", tests: true,
			argv: goTest("-tags", "machine", "-timeout", "15m", "-p", "1", "./packaging/check/", "./packaging/test/vm/", "./packaging/test/machine/"), needs: []string{"package"}},
		{name: "emulated", lane: emulated, what: "limits, reboots and power cuts, in an emulated machine", tests: true,
			argv: goTest("-tags", "machine", "-timeout", "40m", "./packaging/test/suite/", "-machine", "emulated"), needs: []string{"package"}},
	}, nil
}

// outcome runs the stage, unless one that it needs is broken.
func (s stage) outcome(ctx context.Context, broken func(stage string) bool) tally {
	for _, need := range s.needs {
		if broken(need) {
			return failure(s.name, "did not run, as the stage "+need+" failed")
		}
	}
	if err := ctx.Err(); err != nil {
		return failure(s.name, "did not run: the run was interrupted")
	}
	ctx, stop := await.For(ctx, "the end of the stage "+s.name, stageLimit)
	defer stop()
	cmd := exec.CommandContext(ctx, s.argv[0], s.argv[1:]...)
	// Its own process group, so that an interruption reaches all of it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	cmd.Env = environment()
	t := s.command(ctx, cmd)
	if cmd.ProcessState != nil {
		t.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return t
}

// command is what came of the stage's command.
func (s stage) command(ctx context.Context, cmd *exec.Cmd) tally {
	if s.tests {
		return s.goTests(ctx, cmd)
	}
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); s.far && errors.As(err, &exit) && exit.ExitCode() == unreachable {
		return tally{missed: []string{s.name + ": " + await.Tail(string(out), 1)}}
	}
	if err != nil {
		return failure(s.name, fmt.Sprintf("%s\n%v: %v", out, s.argv, await.Cause(ctx, err)))
	}
	return tally{passed: 1}
}

// goTests runs a command that prints test events.
func (s stage) goTests(ctx context.Context, cmd *exec.Cmd) tally {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return failure(s.name, err.Error())
	}
	if err := cmd.Start(); err != nil {
		return failure(s.name, err.Error())
	}
	c := newCount(s.name)
	readErr := c.read(pipe)
	io.Copy(io.Discard, pipe) // so that the command can end whatever was read
	err = cmd.Wait()
	t := c.tally()
	if readErr != nil {
		t.add(failure(s.name, "reading its events: "+readErr.Error()))
	}
	if err != nil && t.failed() == 0 {
		t.add(failure(s.name, fmt.Sprintf("%s\n%v: %v", stderr.String(), s.argv, await.Cause(ctx, err))))
	}
	if t.passed+t.failed() == 0 {
		t.add(failure(s.name, "ran no test at all\n"+stderr.String()))
	}
	return t
}

// environment is the Makefile's, also where make did not start it.
func environment() []string {
	env := os.Environ()
	if os.Getenv("CGO_CFLAGS") == "" {
		env = append(env, "CGO_CFLAGS=-O2 -g -Wno-deprecated-declarations")
	}
	return env
}
