package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sumsUp returns a stage whose command prints the given output of gotestsum.
func sumsUp(name string, status int, lines ...string) stage {
	return stage{name: name, tests: true, argv: []string{"sh", "-c", `s=$1; shift; printf '%s\n' "$@"; exit $s`, "sh",
		fmt.Sprint(status), strings.Join(lines, "\n")}}
}

func TestRunSumsUp(t *testing.T) {
	good := sumsUp("good", 0, "✓  a (1s)", "", "DONE 12 tests in 3.2s")
	for _, tt := range []struct {
		name   string
		stages []stage
		last   string
		want   string // expected part of the output
	}{
		{"all is well", []stage{good, {name: "step", argv: []string{"true"}}}, "13 passed, 0 failed", "ok    good          12 passed, 0 failed"},
		{"one test fails", []stage{sumsUp("a", 1, "=== FAIL: p TestX (0.00s)", "DONE 3 tests, 1 failure in 0.1s")},
			"2 passed, 1 failed", "failed: a: FAIL: p TestX (0.00s)\n"},
		{"a skipped test is a failure", []stage{sumsUp("a", 0, "=== SKIP: p TestX (0.00s)", "DONE 3 tests, 1 skipped in 0.1s")},
			"2 passed, 1 failed", "failed: a: SKIP: p TestX (0.00s)\n"},
		{"a package does not build", []stage{sumsUp("a", 1, "=== FAIL: b  (0.00s)", "=== Errors", "x.go:1: undefined", "DONE 4 tests, 2 skipped, 1 failure, 2 errors in 0.1s")},
			"1 passed, 5 failed", " a             x.go:1: undefined\n"},
		{"no test ran", []stage{sumsUp("a", 0, "DONE 0 tests in 0.1s")}, "0 passed, 1 failed", "failed: a: no test ran\n"},
		{"gotestsum dies", []stage{sumsUp("a", 3)}, "0 passed, 1 failed", "failed: a: no test ran\n"},
		{"the tests pass and the command fails", []stage{sumsUp("a", 3, "DONE 2 tests in 1s")}, "2 passed, 1 failed", "exit status 3"},
		{"a step fails, and what needs it is not run", []stage{{name: "a", argv: []string{"sh", "-c", "echo why; exit 3"}}, {name: "b", argv: []string{"true"}, needs: []string{"a"}}},
			"0 passed, 2 failed", "failed: b: not run because the stage a failed\n"},
		{"a step that fails shows its output", []stage{{name: "a", argv: []string{"sh", "-c", "echo why; exit 3"}}}, "0 passed, 1 failed", " a             why\n"},
		{"no such command", []stage{{name: "a", argv: []string{"/nonexistent"}, tests: true}}, "0 passed, 1 failed", "/nonexistent"},
		{"another machine can't be reached", []stage{good, {name: "a", argv: []string{"sh", "-c", "echo why; exit 77"}, far: true}},
			"12 passed, 0 failed", "not counted: a, "},
		{"nothing but what can't be reached", []stage{{name: "a", argv: []string{"sh", "-c", "exit 77"}, far: true}}, "0 passed, 0 failed", "MISS  a"},
		{"only such a stage may exit with 77", []stage{{name: "a", argv: []string{"sh", "-c", "exit 77"}}}, "0 passed, 1 failed", "exit status 77"},
		{"no stage", nil, "0 passed, 0 failed", ""},
	} {
		var out bytes.Buffer
		ok := run(t.Context(), &out, tt.stages)
		if want := strings.HasSuffix(tt.last, " 0 failed") && !strings.HasPrefix(tt.last, "0 "); ok != want {
			t.Errorf("%s: run reports %t", tt.name, ok)
		}
		if !strings.HasSuffix(out.String(), "\n"+tt.last+"\n") || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: want %q and at the end %q; got:\n%s", tt.name, tt.want, tt.last, out.String())
		}
	}
}

// The real gotestsum runs on a package that the test makes. gotestsum prints failures, skips and
// its summary in the form that run parses.
func TestRealGotestsum(t *testing.T) {
	t.Chdir("../../..")
	for _, tt := range []struct {
		name, events string
		passed       int
		failures     int
		want         string
	}{
		{"passes", `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}`, 1, 0, ""},
		{"fails", `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: no\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}`, 0, 1, "a_test.go:1: no"},
		{"is skipped", `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}`, 0, 1, ""},
		{"never ends", `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"signal: killed\n"}
{"Action":"fail","Package":"p"}`, 0, 1, "signal: killed"},
	} {
		argv := append(gotestsum("run-test"), "--raw-command", "--", "echo", tt.events)
		argv = slices.DeleteFunc(argv, func(s string) bool { return strings.HasPrefix(s, "--jsonfile=") })
		var said strings.Builder
		got := stage{name: "s", argv: argv, tests: true}.run(t.Context(), func(line string) { fmt.Fprintln(&said, line) })
		if got.passed != tt.passed || got.failed != tt.failures || len(got.failures) != tt.failures || !strings.Contains(said.String(), tt.want) {
			t.Errorf("a test %s: %+v\n%s", tt.name, got, said.String())
		}
	}
}

// A stage leaves a process behind, and nothing kills the process at the end of the stage. This does
// not delay the run.
func TestALeftoverHoldsNothingUp(t *testing.T) {
	defer func(before time.Duration) { closeLimit = before }(closeLimit)
	closeLimit = time.Millisecond
	file, pipe := filepath.Join(t.TempDir(), "pid"), filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	s := stage{name: "s", tests: true, argv: []string{"sh", "-c",
		"setsid sleep 1000 & echo $! > " + file + "; echo DONE 1 test in 1s; echo left; cat " + pipe}}
	var said []string
	got := s.run(t.Context(), func(line string) { // this function writes to the named pipe, which ends the stage
		said = append(said, line)
		if err := os.WriteFile(pipe, nil, 0); err != nil {
			t.Error(err)
		}
	})
	if got.failed != 1 || got.passed != 1 || !slices.Equal(said, []string{"left"}) {
		t.Errorf("%+v, %q", got, said)
	}
	text, err := os.ReadFile(file)
	pid, bad := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || bad != nil || syscall.Kill(pid, syscall.SIGKILL) != nil {
		t.Errorf("its process is %q, which can't be ended: %v", text, err)
	}
}

// A failure is printed before its stage ends.
func TestAFailureIsPrintedAtOnce(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	said := make(chan string)
	ended := make(chan tally)
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		s := stage{name: "s", tests: true, argv: []string{"sh", "-c", "echo '--- FAIL: TestX'; cat " + pipe}}
		ended <- s.run(t.Context(), func(line string) { said <- line })
	}()
	if got := <-said; got != "--- FAIL: TestX" {
		t.Errorf("got %q", got)
	}
	if err := os.WriteFile(pipe, []byte("DONE 1 test, 1 failure in 1s\n"), 0); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got.failed != 1 || got.passed != 0 {
		t.Errorf("got %+v", got)
	}
}

// The lanes of a phase run at the same time. Phases run one after another.
func TestLanes(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	var out bytes.Buffer
	if !run(t.Context(), &out, []stage{
		{name: "reads", phase: boxes, lane: "a", nice: true, argv: []string{"cat", pipe}},
		{name: "writes", phase: boxes, lane: "b", argv: []string{"sh", "-c", "echo > " + pipe}},
		{name: "makes", argv: []string{"mkfifo", pipe}},
		{name: "removes", phase: after, argv: []string{"rm", pipe}},
	}) {
		t.Errorf("got:\n%s", out.String())
	}
}

// Later phases do not wait for a lane with a lower priority (nice).
func TestANicedLaneHoldsUpNoPhase(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	var out bytes.Buffer
	if !run(t.Context(), &out, []stage{
		{name: "makes", argv: []string{"mkfifo", pipe}},
		{name: "reads", phase: boxes, nice: true, argv: []string{"cat", pipe}},
		{name: "writes", phase: after, argv: []string{"sh", "-c", "echo > " + pipe}},
	}) {
		t.Errorf("got:\n%s", out.String())
	}
}

func TestNiceStageHasALowerPriority(t *testing.T) {
	var out bytes.Buffer
	run(t.Context(), &out, []stage{{name: "a", nice: true, argv: []string{"sh", "-c", "nice; exit 1"}}})
	if !strings.Contains(out.String(), " a             19\n") {
		t.Errorf("got:\n%s", out.String())
	}
}

func TestAnInterruptedRunHasNotPassed(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out bytes.Buffer
	if run(ctx, &out, []stage{{name: "a", argv: []string{"true"}}}) || !strings.HasSuffix(out.String(), "\n0 passed, 1 failed\n") {
		t.Errorf("got:\n%s", out.String())
	}
}

func TestChoose(t *testing.T) {
	t.Chdir("../../..")
	if got, err := choose([]string{"unit", "lint"}); err != nil || len(got) != 2 || got[0].name != "lint" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, names := range [][]string{{"units"}, {"unit", "x"}, nil} {
		if got, err := choose(names); err == nil {
			t.Errorf("%q chooses %v", names, got)
		}
	}
	groups, err := stages(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range []string{groupTest, groupAll} {
		chosen, err := choose([]string{group})
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, s := range chosen {
			for _, need := range s.needs {
				if !names[need] {
					t.Errorf("%s: %s needs %s, which is not before it", group, s.name, need)
				}
			}
			if names[s.name] {
				t.Errorf("%s: %s is there twice", group, s.name)
			}
			names[s.name] = true
		}
		if len(names) != len(groups[group]) {
			t.Errorf("%s chooses %d of %d stages", group, len(names), len(groups[group]))
		}
	}
	if both, err := choose([]string{groupAll, groupTest}); err != nil || len(both) != len(groups[groupTest])+len(groups[groupAll])-3 {
		t.Errorf("both groups: %d stages, %v", len(both), err)
	}
}

// 'make test' tests every package exactly once.
func TestEveryPackageIsTestedOnce(t *testing.T) {
	t.Chdir("../../..")
	list, err := listPackages(".")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := stages(".")
	if err != nil {
		t.Fatal(err)
	}
	var tested []string
	for _, s := range groups[groupTest] {
		if s.name == "unit" || s.name == "nvml" || s.name == "compute" {
			tested = append(tested, slices.DeleteFunc(slices.Clone(s.argv), func(word string) bool { return !strings.HasPrefix(word, "./") })...)
		}
	}
	all := paths(list, func(pkg) bool { return true })
	slices.Sort(all)
	slices.Sort(tested)
	if !slices.Equal(all, tested) {
		t.Errorf("of\n%q\nare tested\n%q", all, tested)
	}
}

// The race stage tests every package with goroutines. It tests no other packages, because their
// tests are slow even without the detector.
func TestRacePackages(t *testing.T) {
	list, err := listPackages("../../..")
	if err != nil {
		t.Fatal(err)
	}
	race := map[string]bool{}
	for _, p := range list {
		race[p.path] = p.race
	}
	for _, dir := range strings.Fields(`cmd/gpusched/client daemon daemon/api daemon/journal daemon/server daemon/store daemon/supervise gpu/gputest
		gpu/kernellog gpu/nvml gpu/source units/systemd units/unittest`) {
		if !race["./"+dir] {
			t.Errorf("%s is left out", dir)
		}
	}
	for _, dir := range strings.Fields("daemon/job daemon/sched daemon/core daemon/dst units cgroup") {
		if race["./"+dir] {
			t.Errorf("%s is among them", dir)
		}
	}
}

// The race stage runs exactly the listed scripts. All of them exist.
func TestScriptsWithoutRace(t *testing.T) {
	pattern, err := withoutRace("../../..")
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(pattern, "|^TestScripts$/")
	if !ok {
		t.Fatalf("no scripts in %s", pattern)
	}
	plain := regexp.MustCompile(list)
	if !plain.MatchString("list") {
		t.Errorf("the detector watches the script list: %s", list)
	}
	for _, name := range goScripts {
		if _, err := os.Stat(filepath.Join("../../..", scriptsDir, name+".txt")); err != nil || plain.MatchString(name) {
			t.Errorf("the script %s: %v, or nobody watches it: %s", name, err, list)
		}
	}
}

// Each test that the race stage leaves out exists exactly once, in a package of the race stage.
func TestAlone(t *testing.T) {
	t.Chdir("../../..")
	list, err := listPackages(".")
	if err != nil {
		t.Fatal(err)
	}
	var code []byte
	for _, dir := range paths(list, func(p pkg) bool { return p.race }) {
		files, _ := filepath.Glob(dir + "/*_test.go")
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code = append(code, text...)
		}
	}
	for _, name := range alone {
		if n := bytes.Count(code, []byte("\nfunc "+name+"(")); n != 1 {
			t.Errorf("%s is there %d times, not once", name, n)
		}
	}
}

// fuzz.sh fails if a test fails on an input, or if there is nothing to fuzz. It does not fail when
// its time is up.
func TestFuzzScript(t *testing.T) {
	dir := t.TempDir()
	fake := "#!/bin/sh\ncase $1 in env) echo / ;; *) printf '#!/bin/sh\nprintf \"\n$SAID\"; exit $STATUS' >$5; chmod +x $5 ;; esac\n"
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, said string
		status     int
		want       bool
	}{
		{"FuzzNoSuch", "PASS", 0, false},
		{"FuzzParse", "PASS", 0, true},
		{"FuzzParse", "--- FAIL: FuzzParse (1.00s)\n    context deadline exceeded\nFAIL", 1, true},
		{"FuzzParse", "    context deadline exceeded\n    Failing input written to testdata/x\nFAIL", 1, false},
		{"FuzzParse", "    x_test.go:1: context deadline exceeded\nFAIL", 1, false},
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "../../fuzz.sh", "1x", c.name)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SAID="+c.said, "STATUS="+strconv.Itoa(c.status), "GIT_DIR=/nonexistent")
		if out, err := cmd.CombinedOutput(); (err == nil) != c.want {
			t.Errorf("%s, which says %q: %v\n%s", c.name, c.said, err, out)
		}
	}
}

// Each part of the interface that parses other people's text has a fuzz test.
func TestWhatReadsOthersTextIsFuzzed(t *testing.T) {
	for dir, least := range map[string]int{
		"cmd/gpusched/client": 1, "cmd/gpusched/cli": 2, "cmd/gpusched/submit": 1, "daemon/api": 1, "daemon/config": 1, "daemon/job": 9, "daemon/server": 4, "daemon/store": 2, "daemon/sim": 1,
		"gpu": 2, "gpu/nvml": 1, "units": 2, "units/launch": 2, "units/systemd": 1,
	} {
		have := 0
		files, _ := filepath.Glob(filepath.Join("../../..", dir, "*_test.go"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			have += bytes.Count(text, []byte("\nfunc Fuzz"))
		}
		if have < least {
			t.Errorf("%s has %d fuzz tests, not %d", dir, have, least)
		}
	}
}
