package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

type options struct {
	time     time.Duration // 0: without end
	seed     uint64
	workers  int
	packages []string // paths in the checkout
	files    []string // names; none: all
}

// patience is by how much a mutant's tests may take longer than without it
// before they count as hanging. A busy machine must not kill mutants.
const patience = 60

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
	tmp, err := os.MkdirTemp("", "gpusched-mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	g := gremlins{dir: tmp, workers: o.workers}
	if err := g.build(ctx); err != nil {
		return err
	}
	sum, began, left := newSummary(o.packages), time.Now(), 0
	for i, s := range list {
		if o.time > 0 && time.Since(began) > o.time {
			left = len(list) - i
			break
		}
		mutants, err := g.judge(ctx, s)
		if ctx.Err() != nil { // what was judged before is worth telling
			left = len(list) - i
			break
		}
		if err != nil {
			return fmt.Errorf("%s/%s: %w", s.pkg, s.name, err)
		}
		sum.add(s, mutants, excuses)
		fmt.Fprintf(out, "%s/%s: %d mutants in %s\n", s.pkg, s.name, len(mutants), time.Since(began).Round(time.Second))
	}
	sum.print(out, left)
	return nil
}

// gremlins is the tool with a copy of the checkout to work on.
type gremlins struct {
	dir     string
	workers int
}

func (g gremlins) program() string        { return filepath.Join(g.dir, "gremlins") }
func (g gremlins) copy(pkg string) string { return filepath.Join(g.dir, filepath.Base(pkg)) }

func (g gremlins) build(ctx context.Context) error {
	text, err := exec.CommandContext(ctx, "go", "build", "-modfile=packaging/tools/mutate/go.mod", "-o", g.program(),
		"github.com/go-gremlins/gremlins/cmd/gremlins").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build gremlins: %w\n%s", err, text)
	}
	return nil
}

// mutant is one change, and what came of it.
type mutant struct {
	Type, Status string
	Line         int
}

// judge tries every mutant of one file.
func (g gremlins) judge(ctx context.Context, s source) ([]mutant, error) {
	dir := g.copy(s.pkg)
	if _, err := os.Stat(dir); err != nil {
		if err := checkout(ctx, dir); err != nil {
			return nil, err
		}
		if err := alone(dir, s.pkg); err != nil {
			return nil, err
		}
	}
	result := filepath.Join(g.dir, "result.json")
	os.Remove(result)
	args := []string{"unleash", "./" + s.pkg, "-o", result, "--workers", strconv.Itoa(g.workers), "--timeout-coefficient", strconv.Itoa(patience)}
	others, err := g.others(s)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, g.program(), append(args, others...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-short")
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("gremlins: %w\n%s", err, text.Bytes())
	}
	return readResult(result)
}

// others are the options that leave out every file but one.
func (g gremlins) others(s source) (args []string, err error) {
	names, err := filepath.Glob(filepath.Join(g.copy(s.pkg), s.pkg, "*.go"))
	for _, n := range names {
		if n = filepath.Base(n); n != s.name {
			args = append(args, "-E", "^"+regexp.QuoteMeta(n)+"$")
		}
	}
	below, err2 := filepath.Glob(filepath.Join(g.copy(s.pkg), s.pkg, "*", "*.go"))
	for _, n := range below {
		args = append(args, "-E", "^"+regexp.QuoteMeta(filepath.Base(filepath.Dir(n)))+"/")
	}
	if err == nil {
		err = err2
	}
	return args, err
}

// readResult reads what gremlins wrote. A file without a mutant has no result.
func readResult(path string) ([]mutant, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r struct {
		Files []struct {
			Mutations []mutant `json:"mutations"`
		} `json:"files"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read the result of gremlins: %w", err)
	}
	var all []mutant
	for _, f := range r.Files {
		all = append(all, f.Mutations...)
	}
	return all, nil
}
