package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	chosen, err := choose(os.Args[1:])
	if err == nil {
		err = os.MkdirAll(eventDir, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(2)
	}
	if !run(ctx, os.Stdout, chosen) {
		stop()
		os.Exit(1)
	}
}

// choose returns the stages with these names or in these groups. No stage occurs twice.
func choose(names []string) (chosen []stage, err error) {
	groups, err := stages(".")
	if err != nil {
		return nil, err
	}
	known := map[string]bool{groupTest: true, groupAll: true}
	for _, group := range []string{groupTest, groupAll} {
		for _, s := range groups[group] {
			wanted := slices.Contains(names, s.name) || slices.Contains(names, group)
			if wanted && !slices.ContainsFunc(chosen, func(c stage) bool { return c.name == s.name }) {
				chosen = append(chosen, s)
			}
			known[s.name] = true
		}
	}
	if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return !known[name] }) {
		return nil, fmt.Errorf("%q: the stages and groups are %s", names, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	return chosen, nil
}

// run runs the stages and reports whether all passed. The phases run one after another, the lanes
// of a phase at the same time, and the stages of a lane one by one. If the stages of a lane have a
// lower priority (nice), later phases do not wait for that lane.
func run(ctx context.Context, out io.Writer, chosen []stage) bool {
	r := &report{out: out, began: time.Now(), of: map[string]tally{}}
	var beside sync.WaitGroup
	for phase := range phases {
		lanes := map[string][]stage{}
		for _, s := range chosen {
			if s.phase == phase {
				lanes[s.lane] = append(lanes[s.lane], s)
			}
		}
		var running sync.WaitGroup
		for _, list := range lanes {
			group := &running
			if !slices.ContainsFunc(list, func(s stage) bool { return !s.nice }) {
				group = &beside
			}
			group.Go(func() { r.runLane(ctx, list) })
		}
		running.Wait()
	}
	beside.Wait()
	return r.printSummary(chosen)
}

// A report prints events and keeps the result of every
// stage. Its methods are safe for concurrent use.
type report struct {
	began time.Time

	mu  sync.Mutex // guards the fields below
	out io.Writer
	of  map[string]tally
}

func (r *report) runLane(ctx context.Context, lane []stage) {
	for _, s := range lane {
		r.printLine("start", s.name, s.what)
		start := time.Now()
		t := r.result(ctx, s)
		r.mu.Lock()
		r.of[s.name] = t
		r.mu.Unlock()
		r.printLine(t.word(), s.name, fmt.Sprintf("%d passed, %d failed in %s", t.passed, t.failed, round(time.Since(start))))
	}
}

// result runs a stage and returns its result. It does not run the stage if another stage that the
// stage needs has failed.
func (r *report) result(ctx context.Context, s stage) tally {
	for _, need := range s.needs {
		r.mu.Lock()
		broken := r.of[need].failed > 0
		r.mu.Unlock()
		if broken {
			return failure(s.name + ": not run because the stage " + need + " failed")
		}
	}
	if ctx.Err() != nil {
		return failure(s.name + ": not run because the run was interrupted")
	}
	return s.run(ctx, func(line string) { r.printLine("", s.name, line) })
}

// printLine prints a line about a stage.
func (r *report) printLine(word, stage, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := time.Since(r.began)
	fmt.Fprintf(r.out, "%3d:%02d %-5s %-13s %s\n", int(since.Minutes()), int(since.Seconds())%60, word, stage, text)
}

// printSummary prints the failures and the total numbers, and reports whether all stages passed.
func (r *report) printSummary(chosen []stage) bool {
	total := tally{}
	for _, s := range chosen {
		t := r.of[s.name]
		total.passed += t.passed
		total.failed += t.failed
		total.failures = append(total.failures, t.failures...)
		if t.unreachable {
			fmt.Fprintf(r.out, "not counted: %s, whose machine can't be reached from here\n", s.name)
		}
	}
	for _, f := range total.failures {
		fmt.Fprintln(r.out, "failed:", f)
	}
	fmt.Fprintf(r.out, "all stages took %s\n%d passed, %d failed\n", round(time.Since(r.began)), total.passed, total.failed)
	return total.failed == 0 && total.passed > 0
}

func round(d time.Duration) string { return d.Round(time.Second).String() }
