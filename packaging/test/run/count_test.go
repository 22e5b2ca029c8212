package main

import (
	"bytes"
	"context"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		name, events string
		passed       int
		failures     []string // the name, and a part of the output behind " | "
	}{
		{"tests count once, with their subtests", `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/one"}
{"Action":"pass","Package":"p","Test":"TestA/one"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestB/x","Output":"b_test.go:1: no\n"}
{"Action":"fail","Package":"p","Test":"TestB/x"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}
`, 1, []string{"s: p TestB | b_test.go:1: no"}},
		{"a skip is a failure", `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`, 0, []string{"s: p TestA | was skipped"}},
		{"a skipped subtest too", `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestA/x"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`, 1, []string{"s: p TestA/x | was skipped"}},
		{"a package without tests counts nothing", `{"Action":"start","Package":"p"}
{"Action":"skip","Package":"p"}
`, 0, nil},
		{"a panic", `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"panic: x\n"}
{"Action":"fail","Package":"p"}
`, 0, []string{"s: p TestA | panic: x"}},
		{"a death without a test", `{"Action":"output","Package":"p","Output":"signal: killed\n"}
{"Action":"fail","Package":"p"}
`, 0, []string{"s: p | signal: killed"}},
		{"a package that does not build", `{"ImportPath":"p [p.test]","Action":"build-output","Output":"x.go:1: undefined\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}
`, 0, []string{"s: p | x.go:1: undefined"}},
		{"an end in the middle", `{"Action":"run","Package":"p","Test":"TestA"}
`, 0, []string{"s: p TestA | never ended"}},
	} {
		c := newCount("s")
		if err := c.read(strings.NewReader(tt.events)); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		got := c.tally()
		if got.passed != tt.passed || got.failed() != len(tt.failures) {
			t.Errorf("%s: %d passed, failures %q", tt.name, got.passed, got.failures)
			continue
		}
		for i, want := range tt.failures {
			name, part, _ := strings.Cut(want, " | ")
			if f := got.failures[i]; f.name != name || !strings.Contains(f.output, part) {
				t.Errorf("%s: got %q, want %q", tt.name, f, want)
			}
		}
	}
}

func TestCountRefusesWhatIsNoEvent(t *testing.T) {
	if err := newCount("s").read(strings.NewReader("hello\n")); err == nil {
		t.Error("no error")
	}
}

// What failed and what took long is told when the stage is done, before the next one is.
func TestRunSaysItAtOnce(t *testing.T) {
	events := strings.NewReplacer("\n", "", "\t", "").Replace(`printf '{"Action":"run","Package":"a/p","Test":"TestA"}\n
		{"Action":"output","Package":"a/p","Test":"TestA","Output":"  a_test.go:7: why\\nmuch besides"}\n
		{"Action":"fail","Package":"a/p","Test":"TestA","Elapsed":3}\n
		{"Action":"fail","Package":"a/p","Elapsed":4.2}\n'; exit 1`)
	var out bytes.Buffer
	run(t.Context(), &out, []stage{
		{name: "a", argv: []string{"sh", "-c", events}, tests: true},
		{name: "b", argv: []string{"sh", "-c", "echo first; echo last; exit 1"}},
		{name: "c", argv: []string{"true"}},
	})
	before, _, _ := strings.Cut(out.String(), "ok   c")
	for _, want := range []string{
		"     failed: a: a/p TestA\n         a_test.go:7: why\n     slowest: p 4s, TestA 3s\n",
		"     failed: b\n       first\n       last\n",
	} {
		if !strings.Contains(before, want) {
			t.Errorf("not %q; got:\n%s", want, out.String())
		}
	}
}

func TestRunSaysEverythingAtTheEnd(t *testing.T) {
	events := `printf '{"Action":"run","Package":"p","Test":"TestA"}\n{"Action":"pass","Package":"p","Test":"TestA"}\n{"Action":"pass","Package":"p"}\n'`
	good := stage{name: "good", argv: []string{"sh", "-c", events}, tests: true}
	for _, tt := range []struct {
		name   string
		stages []stage
		ok     bool
		last   string
		part   string
	}{
		{"well", []stage{good, {name: "step", argv: []string{"true"}}}, true, "2 passed, 0 failed", ""},
		{"a step fails, the next needs it", []stage{{name: "a", argv: []string{"sh", "-c", "echo why; exit 3"}}, {name: "b", argv: []string{"true"}, needs: []string{"a"}}}, false, "0 passed, 2 failed", "why"},
		{"no such command", []stage{{name: "a", argv: []string{"/nonexistent"}, tests: true}}, false, "0 passed, 1 failed", "/nonexistent"},
		{"tests pass and the command fails", []stage{{name: "a", argv: []string{"sh", "-c", events + "; echo late >&2; exit 1"}, tests: true}}, false, "1 passed, 1 failed", "late"},
		{"no test at all", []stage{{name: "a", argv: []string{"true"}, tests: true}}, false, "0 passed, 1 failed", "no test at all"},
		{"another machine is out of reach", []stage{good, {name: "a", argv: []string{"sh", "-c", "echo why; exit 77"}, far: true}}, true, "1 passed, 0 failed", "NOT RUN, and so counted as neither: a: why"},
		{"nothing but what is out of reach", []stage{{name: "a", argv: []string{"sh", "-c", "exit 77"}, far: true}}, false, "0 passed, 0 failed", "MISS a"},
		{"only such a stage may be missed", []stage{{name: "a", argv: []string{"sh", "-c", "exit 77"}}}, false, "0 passed, 1 failed", ""},
		{"nothing", nil, false, "0 passed, 0 failed", ""},
	} {
		var out bytes.Buffer
		if ok := run(context.Background(), &out, tt.stages); ok != tt.ok {
			t.Errorf("%s: got %v", tt.name, ok)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if lines[len(lines)-1] != tt.last || !strings.Contains(out.String(), tt.part) {
			t.Errorf("%s: got:\n%s", tt.name, out.String())
		}
	}
}

// The two lanes run beside each other, and both after the first.
func TestLanes(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	var out bytes.Buffer
	if !run(context.Background(), &out, []stage{
		{name: "reads", lane: native, argv: []string{"cat", pipe}},
		{name: "writes", lane: emulated, argv: []string{"sh", "-c", "echo > " + pipe}},
		{name: "makes", argv: []string{"mkfifo", pipe}},
	}) {
		t.Errorf("got:\n%s", out.String())
	}
}

// Who is done with the emulated machines helps, and nothing runs twice.
func TestOneLaneHelpsTheOther(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	var out bytes.Buffer
	if !run(t.Context(), &out, []stage{
		{name: "makes", argv: []string{"mkfifo", pipe}},
		{name: "reads", lane: native, argv: []string{"cat", pipe}},
		{name: "writes", lane: native, argv: []string{"sh", "-c", "echo > " + pipe}},
		{name: "emulates", lane: emulated, argv: []string{"true"}},
	}) || !strings.HasSuffix(out.String(), "\n4 passed, 0 failed\n") {
		t.Errorf("got:\n%s", out.String())
	}
}

func TestAnInterruptedRunHasNotPassed(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out bytes.Buffer
	if run(ctx, &out, []stage{{name: "a", argv: []string{"true"}}}) || !strings.HasSuffix(out.String(), "0 passed, 1 failed\n") {
		t.Errorf("got:\n%s", out.String())
	}
}

func TestChoose(t *testing.T) {
	if got, err := choose([]string{"unit", "lint"}); err != nil || len(got) != 2 || got[0].name != "lint" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := choose([]string{"units"}); err == nil {
		t.Error("an unknown stage is accepted")
	}
	names := map[string]bool{}
	all, err := stages("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, need := range s.needs {
			if !names[need] {
				t.Errorf("%s needs %s, which is not before it", s.name, need)
			}
		}
		names[s.name] = true
	}
}

// The race detector looks at every package with goroutines, and at no pure one,
// whose tests are slow enough without it.
func TestConcurrent(t *testing.T) {
	list, err := concurrent("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields("cmd/gpusched daemon daemon/api daemon/journal daemon/server daemon/store daemon/supervise gpu/gputest gpu/kernellog gpu/nvml gpu/source units/systemd units/unittest") {
		if !slices.Contains(list, "./"+p) {
			t.Errorf("%s is not among %q", p, list)
		}
	}
	for _, p := range list {
		if slices.Contains([]string{"./daemon/job", "./daemon/sched", "./daemon/core", "./daemon/dst", "./units", "./cgroup"}, p) {
			t.Errorf("%s is among them", p)
		}
	}
}

// What is left out of the race detector's stage is one test of the unit stage each, and has no goroutine to look at.
func TestAlone(t *testing.T) {
	list, err := concurrent("../../..")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, dir := range list {
		files, err := filepath.Glob(filepath.Join("../../..", dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if built, err := build.Default.MatchFile(filepath.Split(path)); err != nil || !built {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && slices.Contains(alone, f.Name.Name) {
					found[f.Name.Name]++
					if startsGoroutines(f) {
						t.Errorf("%s of %s starts goroutines", f.Name.Name, dir)
					}
				}
			}
		}
	}
	for _, name := range alone {
		if found[name] != 1 {
			t.Errorf("%s is there %d times, not once", name, found[name])
		}
	}
}
