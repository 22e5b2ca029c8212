package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

const (
	// testLimit is longer than the tests of any package take while other stages run.
	testLimit = 45 * time.Minute
	// stageLimit is longer than any stage takes.
	stageLimit = 50 * time.Minute
)

// closeLimit limits how long background processes may keep a stage's output open after its end.
var closeLimit = 20 * time.Second

// statusUnreachable is the exit status of a stage that could not reach another machine.
const statusUnreachable = 77

// A tally is the result of a stage.
type tally struct {
	passed, failed int
	failures       []string // one line per named failure
	unreachable    bool
}

func failure(why string) tally { return tally{failed: 1, failures: []string{why}} }

func (t tally) word() string {
	switch {
	case t.failed > 0:
		return "FAIL"
	case t.unreachable:
		return "MISS"
	}
	return "ok"
}

// run runs the stage's command. The lines of a failed test are printed as they arrive. The output
// of any other command is printed only if the command fails, after its end.
func (s stage) run(ctx context.Context, say func(line string)) tally {
	ctx, stop := await.For(ctx, "the end of the stage "+s.name, stageLimit)
	defer stop()
	argv := s.argv
	if s.nice {
		argv = append([]string{"nice", "-n", "19"}, argv...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	s.prepare(cmd)
	output, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	if err := cmd.Start(); err != nil {
		say(err.Error())
		return failure(s.name + ": " + err.Error())
	}
	if s.nice { // the session's priority too, because the kernel shares the processors among sessions first
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", cmd.Process.Pid), []byte("19"), 0)
	}
	var t tally
	var held []string
	var reading sync.WaitGroup
	reading.Go(func() { t, held = s.read(output, say) })
	err := cmd.Wait()
	in.Close()
	reading.Wait()
	status := cmd.ProcessState.ExitCode()
	if s.far && status == statusUnreachable {
		t.unreachable, err = true, nil
	} else if !s.tests && err == nil {
		t.passed = 1
	}
	if err != nil || t.unreachable {
		for _, line := range held {
			say(line)
		}
	}
	if s.tests && t.passed+t.failed == 0 {
		t.failed, t.failures = 1, append(t.failures, s.name+": no test ran")
	}
	if err != nil && t.failed == 0 {
		t.failed, t.failures = 1, append(t.failures, fmt.Sprintf("%s: %v: %v", s.name, s.argv, await.Cause(ctx, err)))
	}
	return t
}

// prepare makes the stage's command start in a separate session, so that an interrupt reaches all
// its processes.
func (s stage) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = closeLimit
}

// read reads the output of the stage's command. If the command is gotestsum, read prints its lines
// as they arrive and counts its tests. It returns the lines of any other command.
func (s stage) read(from io.Reader, say func(line string)) (t tally, held []string) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "✓"): // the package passed
		case !s.tests:
			held = append(held, line)
		case strings.HasPrefix(line, "=== FAIL: ") || strings.HasPrefix(line, "=== SKIP: "):
			t.failures = append(t.failures, s.name+": "+strings.TrimPrefix(line, "=== "))
		case !t.readSummary(line):
			say(line)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				say(err.Error())
			}
			return t, held
		}
	}
}

// This pattern matches the summary of gotestsum: the numbers of tests, skipped tests, failed tests,
// and packages that did not build.
var done = regexp.MustCompile(`^DONE (\d+) tests?(?:, (\d+) skipped)?(?:, (\d+) failures?)?(?:, (\d+) errors?)? in `)

// readSummary reports whether a line is the summary of gotestsum, and records its numbers.
func (t *tally) readSummary(line string) bool {
	m := done.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	var n [5]int
	for i, digits := range m[1:] {
		n[i+1], _ = strconv.Atoi(digits)
	}
	t.failed = n[2] + n[3] + n[4]
	t.passed = max(0, n[1]-n[2]-n[3])
	return true
}
