package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

type options struct {
	time     time.Duration // 0: without end
	seed     uint64
	workers  int
	packages []string // paths in the checkout
	files    []string // names; none: all
}

// run judges one file after the other until the time is over.
func run(ctx context.Context, out io.Writer, o options) error {
	list, err := sources(o)
	if err != nil {
		return err
	}
	excuses, err := readExcuses()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "gpusched-mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := checkout(ctx, dir); err != nil {
		return err
	}
	programs := map[string]*program{}
	for _, pkg := range o.packages {
		if programs[pkg], err = build(ctx, dir, pkg, list); err != nil {
			return fmt.Errorf("%s: %w", pkg, err)
		}
		fmt.Fprintf(out, "%s: %d mutants, and the tests take %s\n", pkg, len(programs[pkg].mutants),
			programs[pkg].takes.Round(time.Millisecond))
	}
	sum, began, left := newSummary(o.packages), time.Now(), 0
	for i, s := range list {
		if ctx.Err() != nil || o.time > 0 && time.Since(began) > o.time { // what was judged is worth telling
			left = len(list) - i
			break
		}
		if mutants := programs[s.pkg].judge(ctx, s, o.workers); ctx.Err() == nil {
			sum.add(s, mutants, excuses)
			fmt.Fprintf(out, "%s/%s: %d mutants, after %s\n", s.pkg, s.name, len(mutants), time.Since(began).Round(time.Second))
		}
	}
	sum.print(out, left)
	return nil
}

// program is the test program of a package that has all its mutants in it.
type program struct {
	dir, path string
	args      []string
	mutants   []mutant
	reached   map[int]bool  // by the tests
	takes     time.Duration // without a mutant
	hangs     time.Duration // the tests that take longer
}

// build compiles the package's tests in the copy with switches in place of the
// operators. Where a switch doesn't compile, the operators of its line are left.
func build(ctx context.Context, dir, pkg string, list []source) (*program, error) {
	p := &program{dir: filepath.Join(dir, pkg), path: filepath.Join(dir, strings.ReplaceAll(pkg, "/", "-")+".test")}
	texts, broken := map[source][]byte{}, map[source]map[int]bool{}
	for _, s := range list {
		if s.pkg == pkg {
			text, err := os.ReadFile(filepath.Join(p.dir, s.name))
			if err != nil {
				return nil, err
			}
			texts[s], broken[s] = text, map[int]bool{}
		}
	}
	for range 9 {
		if err := p.write(list, texts, broken); err != nil {
			return nil, err
		}
		text, err := p.compile(ctx, dir, pkg)
		if err == nil {
			return p, p.alone(ctx)
		}
		if !breaks(text, pkg, broken) {
			return nil, fmt.Errorf("build the tests: %w\n%s", err, text)
		}
	}
	return nil, errors.New("the switches don't compile")
}

// compile makes the test program, and returns what the compiler says.
func (p *program) compile(ctx context.Context, dir, pkg string) (string, error) {
	ctx, stop := await.For(ctx, "the tests of "+pkg+" to be built", buildLimit)
	defer stop()
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-gcflags=-e", "-ldflags=-w", "-o", p.path, "./"+pkg)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	return string(text), await.Cause(ctx, err)
}

const (
	// buildLimit is for a test program, on a machine under load.
	buildLimit = 15 * time.Minute
	// aloneLimit is for the tests of one package without a mutant.
	aloneLimit = 10 * time.Minute
)

// write puts the switches into the copy.
func (p *program) write(list []source, texts map[source][]byte, broken map[source]map[int]bool) error {
	p.mutants = nil
	for _, s := range list {
		if texts[s] == nil {
			continue
		}
		text, mutants, err := instrument(s, texts[s], broken[s], len(p.mutants)+1)
		if err != nil {
			return err
		}
		p.mutants = append(p.mutants, mutants...)
		if err := os.WriteFile(filepath.Join(p.dir, s.name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(p.dir, "switches_mutate.go"),
		[]byte("package "+filepath.Base(p.dir)+"\n\n"+switches), 0o600)
}

var place = regexp.MustCompile(`(?m)^(?:\./)?(\S+)/([^/\s]+\.go):(\d+):`)

// breaks marks the lines of which the compiler complains, and reports whether
// there is a new one.
func breaks(text, pkg string, broken map[source]map[int]bool) (more bool) {
	for _, m := range place.FindAllStringSubmatch(text, -1) {
		line, _ := strconv.Atoi(m[3])
		if lines := broken[source{pkg, m[2]}]; m[1] == pkg && lines != nil && !lines[line] {
			lines[line], more = true, true
		}
	}
	return more
}

// alone runs the tests without a mutant, to see what they reach and how long they take.
func (p *program) alone(ctx context.Context) error {
	p.args = []string{"-test.short", "-test.failfast"}
	if tests, _ := filepath.Glob(filepath.Join(p.dir, "*_test.go")); anyHas(tests, "pgregory.net/rapid") {
		p.args = append(p.args, "-rapid.nofailfile", "-rapid.shrinktime=0s", "-rapid.seed=1")
	}
	report := p.path + ".reached"
	if err := os.WriteFile(report, nil, 0o600); err != nil {
		return err
	}
	began := time.Now()
	ctx, stop := await.For(ctx, "the tests without a mutant", aloneLimit)
	defer stop()
	if text, err := p.command(ctx, "MUTANT_REPORT="+report).CombinedOutput(); err != nil {
		return fmt.Errorf("the tests fail without a mutant: %w\n%s", await.Cause(ctx, err), text)
	}
	p.takes = time.Since(began)
	p.hangs = 10*time.Second + patience*p.takes
	text, err := os.ReadFile(report)
	p.reached = map[int]bool{}
	for _, id := range bytes.Fields(text) {
		n, _ := strconv.Atoi(string(id))
		p.reached[n] = true
	}
	return err
}

func anyHas(files []string, text string) bool {
	for _, f := range files {
		if b, _ := os.ReadFile(f); bytes.Contains(b, []byte(text)) {
			return true
		}
	}
	return false
}

func (p *program) command(ctx context.Context, env string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), env)
	return cmd
}

// judge tries every mutant of one file.
func (p *program) judge(ctx context.Context, s source, workers int) []mutant {
	mutants := slices.DeleteFunc(slices.Clone(p.mutants), func(m mutant) bool { return m.source != s })
	var wg sync.WaitGroup
	free := make(chan struct{}, workers)
	for i := range mutants {
		free <- struct{}{}
		wg.Go(func() {
			mutants[i].status = p.try(ctx, mutants[i])
			<-free
		})
	}
	wg.Wait()
	return mutants
}

// patience is how much longer a mutant's tests may take than those without one
// before they count as hanging. A busy machine must not kill mutants.
const patience = 10

func (p *program) try(ctx context.Context, m mutant) string {
	if !p.reached[m.site] {
		return "not reached"
	}
	ctx, stop := context.WithTimeout(ctx, p.hangs)
	defer stop()
	if p.command(ctx, fmt.Sprintf("MUTANT=%d", m.id)).Run() != nil {
		return "killed"
	}
	return "survived"
}
