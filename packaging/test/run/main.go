package main

import (
	"context"
	"fmt"
	"io"
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
	if err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(2)
	}
	if !run(ctx, os.Stdout, chosen) {
		stop()
		os.Exit(1)
	}
}

// choose returns the named stages, all of them without names.
func choose(names []string) ([]stage, error) {
	all, err := stages(".")
	if err != nil || len(names) == 0 {
		return all, err
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(s stage) bool { return !slices.Contains(names, s.name) })
	if len(chosen) != len(names) {
		var known []string
		for _, s := range all {
			known = append(known, s.name)
		}
		return nil, fmt.Errorf("unknown or repeated stage in %q: there are %s", names, strings.Join(known, ", "))
	}
	return chosen, nil
}

// run goes through the stages and reports whether all is well: those of lane
// first one by one, then the other lanes beside each other. There is never more
// than one emulated machine at work; who is done with that helps with the rest.
func run(ctx context.Context, out io.Writer, chosen []stage) bool {
	began := time.Now()
	r := report{out: out, of: map[string]tally{}, begun: map[string]bool{}}
	r.work(ctx, chosen, first)
	var workers sync.WaitGroup
	workers.Go(func() { r.work(ctx, chosen, native) })
	workers.Go(func() { r.work(ctx, chosen, emulated, native) })
	workers.Wait()
	total := tally{}
	for _, s := range chosen {
		total.add(r.of[s.name])
	}
	for _, f := range total.failures {
		fmt.Fprintf(out, "\n--- %s\n%s\n", f.name, strings.TrimRight(f.output, "\n"))
	}
	for _, m := range total.missed {
		fmt.Fprintf(out, "\nNOT RUN, and so counted as neither: %s\n", m)
	}
	fmt.Fprintf(out, "\nall stages took %s\n%d passed, %d failed\n", round(time.Since(began)), total.passed,
		total.failed())
	return total.failed() == 0 && total.passed > 0
}

// report is what the stages have come to so far.
type report struct {
	out io.Writer

	mu    sync.Mutex // guards the maps and the lines of out
	of    map[string]tally
	begun map[string]bool
}

// work runs the stages of these lanes, lane by lane, each when the one before it
// is done, but for those that others have begun.
func (r *report) work(ctx context.Context, chosen []stage, lanes ...lane) {
	for _, l := range lanes {
		for _, s := range chosen {
			if s.lane != l || !r.begin(s.name) {
				continue
			}
			start := time.Now()
			t := s.outcome(ctx, r.broken)
			r.mu.Lock()
			r.of[s.name] = t
			r.tell(s, t, time.Since(start))
			r.mu.Unlock()
		}
	}
}

// begin reports whether the stage is left to be begun, and takes it.
func (r *report) begin(stage string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.begun[stage] = true }()
	return !r.begun[stage]
}

// tell writes what a stage came to.
func (r *report) tell(s stage, t tally, took time.Duration) {
	fmt.Fprintf(r.out, "%-4s %-15s %5d passed %3d failed %8s  cpu %8s  %s\n", t.word(), s.name, t.passed, t.failed(),
		round(took), round(t.cpu), s.what)
	for _, f := range t.failures {
		fmt.Fprintf(r.out, "     failed: %s\n", f.name)
		for _, line := range f.gist() {
			fmt.Fprintf(r.out, "       %s\n", line)
		}
	}
	if slow := t.slowest(8); len(slow) > 0 {
		fmt.Fprintf(r.out, "     slowest: %s\n", strings.Join(slow, ", "))
	}
}

func (r *report) broken(stage string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.of[stage]
	return t.failed() > 0
}

func round(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }
