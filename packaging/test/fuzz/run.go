package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

type options struct {
	time  time.Duration
	jobs  int
	fresh bool
	own   bool
	json  bool
}

// outcome is what came of one target.
type outcome struct {
	target
	passed bool
	execs  string
	took   time.Duration
	output string
}

// run goes through the targets, some at once, and reports whether all is well.
func run(ctx context.Context, out io.Writer, o options, names []string) (bool, error) {
	list, err := targets(ctx, names)
	if err != nil || len(list) == 0 {
		return false, err
	}
	tmp, err := os.MkdirTemp("", "gpusched-fuzz-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(tmp)
	b := builder{dir: tmp, coverage: o.coverage()}
	ok := true
	var saying sync.Mutex // guards out and ok
	var workers sync.WaitGroup
	places := make(chan struct{}, max(1, o.jobs))
	for _, t := range list {
		places <- struct{}{}
		workers.Go(func() {
			r := b.fuzz(ctx, t, o)
			saying.Lock()
			r.print(out, o.json)
			ok = ok && r.passed
			saying.Unlock()
			<-places
		})
	}
	workers.Wait()
	return ok, nil
}

// builder makes the test program of each package once, with the coverage that
// leads the search.
type builder struct {
	dir      string
	coverage []string // the switches of go test for it
	once     sync.Map // import path → func() (string, error)
}

// coverage counts what is reached: in all code, or in this module's.
func (o options) coverage() []string {
	if o.own {
		return []string{"-gcflags=github.com/gpusched/gpusched/...=-d=libfuzzer"} // what -fuzz gives every package
	}
	return []string{"-fuzz", "."}
}

// unled is what package testing says of a program that counts nothing.
const unled = "without coverage guidance"

const (
	// buildLimit is for a test program, on a machine under load.
	buildLimit = 15 * time.Minute
	// overtime is what a fuzz test may take beyond its time, for what it begins and ends with.
	overtime = 5 * time.Minute
)

func (b *builder) program(ctx context.Context, pkg string) (string, error) {
	build, _ := b.once.LoadOrStore(pkg, sync.OnceValues(func() (string, error) {
		path := filepath.Join(b.dir, strings.ReplaceAll(pkg, "/", "_")+".test")
		_, err := await.Output(ctx, buildLimit, append(append([]string{"go", "test", "-c"}, b.coverage...), "-o", path, pkg))
		return path, err
	}))
	return build.(func() (string, error))()
}

var executions = regexp.MustCompile(`execs: (\d+)`)

func (b *builder) fuzz(ctx context.Context, t target, o options) outcome {
	r := outcome{target: t, execs: "0"}
	program, err := b.program(ctx, t.pkg)
	if err != nil {
		r.output = err.Error() + "\n"
		return r
	}
	began := time.Now()
	cache, err := o.cache(ctx, b.dir, t)
	if err != nil {
		r.output = err.Error() + "\n"
		return r
	}
	ctx, stop := await.For(ctx, "the end of "+t.name+", which has "+o.time.String(), o.time+overtime)
	defer stop()
	cmd := exec.CommandContext(ctx, program, "-test.run", "^$", "-test.fuzz", "^"+t.name+"$", "-test.fuzztime",
		o.time.String(),
		// Where the order of a map is in what is covered, the engine takes inputs for new that are not, and
		// would spend all of its time on making each smaller.
		"-test.fuzzminimizetime", "50x",
		"-test.fuzzcachedir", cache, "-test.parallel", "1", "-test.timeout", "0")
	cmd.Dir = t.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	text, err := cmd.CombinedOutput()
	r.took, r.output = time.Since(began), string(text)
	if ctx.Err() != nil {
		r.output += await.Cause(ctx, err).Error() + "\n"
		return r
	}
	if all := executions.FindAllStringSubmatch(r.output, -1); all != nil {
		r.execs = all[len(all)-1][1]
	}
	r.passed = (err == nil || justOver(r.output)) && !strings.Contains(r.output, unled)
	return r
}

// justOver tells the end of the time, which package testing at times reports as
// a failure, from a failure: that comes with an input.
func justOver(output string) bool {
	return strings.Contains(output, "context deadline exceeded") && !strings.Contains(output, "Failing input written")
}

// cache is where inputs are kept that turned out to be interesting.
func (o options) cache(ctx context.Context, tmp string, t target) (string, error) {
	if o.fresh {
		return os.MkdirTemp(tmp, "inputs-")
	}
	out, err := await.Output(ctx, time.Minute, []string{"go", "env", "GOCACHE"})
	return filepath.Join(strings.TrimSpace(out), "fuzz", t.pkg), err
}

func (r outcome) print(w io.Writer, asJSON bool) {
	action, word := "pass", "ok"
	if !r.passed {
		action, word = "fail", "FAIL"
	}
	line := fmt.Sprintf("%-4s %-20s %-45s %9s executions in %s\n", word, r.name, r.pkg, r.execs,
		r.took.Round(100*time.Millisecond))
	if !asJSON {
		io.WriteString(w, line)
		if !r.passed {
			io.WriteString(w, r.output)
		}
		return
	}
	type event struct{ Action, Package, Test, Output string }
	enc := json.NewEncoder(w)
	for _, e := range []event{{"run", r.pkg, r.name, ""}, {"output", r.pkg, r.name, line + r.output},
		{action, r.pkg, r.name, ""}} {
		enc.Encode(e)
	}
}
