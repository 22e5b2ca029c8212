package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	chosen, err := choose(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(2)
	}
	if !run(ctx, os.Stdout, chosen) {
		stop()
		os.Exit(1)
	}
}

// choose returns the named stages, all of them without names.
func choose(names []string) ([]stage, error) {
	all := stages()
	if len(names) == 0 {
		return all, nil
	}
	var chosen []stage
	for _, s := range all {
		if slices.Contains(names, s.name) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) != len(names) {
		var known []string
		for _, s := range all {
			known = append(known, s.name)
		}
		return nil, fmt.Errorf("unknown or repeated stage in %q: there are %s", names, strings.Join(known, ", "))
	}
	return chosen, nil
}

// run goes through the stages and tells whether all is well.
func run(ctx context.Context, out io.Writer, chosen []stage) bool {
	began := time.Now()
	total := tally{}
	broken := map[string]bool{}
	for _, s := range chosen {
		start := time.Now()
		t := s.outcome(ctx, broken)
		if t.failed() > 0 {
			broken[s.name] = true
		}
		fmt.Fprintf(out, "%-4s %-14s %5d passed %3d failed %8s  %s\n", t.word(), s.name, t.passed, t.failed(), round(time.Since(start)), s.what)
		total.add(t)
	}
	for _, f := range total.failures {
		fmt.Fprintf(out, "\n--- %s\n%s\n", f.name, strings.TrimRight(f.output, "\n"))
	}
	fmt.Fprintf(out, "\nall stages took %s\n%d passed, %d failed\n", round(time.Since(began)), total.passed, total.failed())
	return total.failed() == 0 && total.passed > 0
}

func round(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }
