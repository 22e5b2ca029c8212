package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// plan is what to measure, and how much of it.
type plan struct {
	only               string // parts; "" is all of them
	record             string // the file for the ratios
	runs, rounds, jobs int
	queued, waiting    int
	idle               time.Duration
}

func main() {
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// command reads the command line and does what it asks for.
func command() error {
	var p plan
	var c comparison
	flag.IntVar(&p.runs, "n", 100, "runs of each latency")
	flag.IntVar(&p.rounds, "rounds", 8, "rounds of what takes seconds")
	flag.IntVar(&p.jobs, "jobs", 200, "jobs of a round of throughput")
	flag.IntVar(&p.queued, "queued", 10_000, "jobs queued for the part queue and for the daemon's figures")
	flag.IntVar(&p.waiting, "waiting", 100_000, "jobs queued for the part scale")
	flag.DurationVar(&p.idle, "idle", time.Minute, "how long the idle daemon is watched")
	flag.StringVar(&p.only, "part", "", "only these `PARTS`, with commas: "+strings.Join(names((&rig{}).parts(plan{})), ", "))
	flag.StringVar(&p.record, "record", "", "write the ratios to this `FILE`")
	user := flag.Int("uid", 1001, "the account that submits")
	flag.StringVar(&c.run, "compare", "", "measure nothing: compare the ratios of this `FILE` with the accepted ones")
	flag.StringVar(&c.accepted, "accepted", "contrib/bench/ratios.toml", "the `FILE` of the accepted ratios")
	flag.StringVar(&c.results, "results", "contrib/bench/RESULTS.md", "the `FILE` with their table")
	flag.BoolVar(&c.accept, "accept", false, "with -compare: accept that run")
	flag.BoolVar(&c.widen, "widen", false, "with -compare: accept that run as well, with intervals that hold both")
	flag.Parse()
	if c.run != "" {
		return c.judge(os.Stdout)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return bench(ctx, p, *user)
}

// A part can be measured alone.
type part struct {
	name string
	run  func(context.Context) error
}

// parts are all of them, in the order in which they are measured: what leaves most behind comes last.
func (b *rig) parts(p plan) []part {
	return []part{
		{"start", func(ctx context.Context) error { return b.start(ctx, p.runs) }},
		{"handover", func(ctx context.Context) error { return b.handover(ctx, p.runs/2) }},
		{"cli", func(ctx context.Context) error { return b.cli(ctx, p.runs) }},
		{"rate", func(ctx context.Context) error { return b.rate(ctx, p.rounds, p.jobs) }},
		{"submit", func(ctx context.Context) error { return b.submitting(ctx, p.rounds, p.jobs/2) }},
		{"daemon", func(ctx context.Context) error { return b.daemon(ctx, p.queued, p.idle) }},
		{"queue", func(ctx context.Context) error { return b.listing(ctx, p.runs/5, p.queued) }},
		{"scale", func(ctx context.Context) error { return b.longQueue(ctx, p.runs/10, p.waiting) }},
	}
}

func names(parts []part) (all []string) {
	for _, p := range parts {
		all = append(all, p.name)
	}
	return all
}

func bench(ctx context.Context, p plan, uid int) error {
	b, err := newRig(ctx, uid)
	if err != nil {
		return err
	}
	defer b.close()
	only := strings.FieldsFunc(p.only, func(r rune) bool { return r == ',' })
	parts := b.parts(p)
	for _, name := range only {
		if !slices.Contains(names(parts), name) {
			return fmt.Errorf("there is no part %q; there are %s", name, strings.Join(names(parts), ", "))
		}
	}
	if b.when, err = moment(ctx); err != nil {
		return err
	}
	fmt.Println("Measured on " + b.when + ".")
	for _, part := range parts {
		if len(only) > 0 && !slices.Contains(only, part.name) {
			continue
		}
		if err := b.measurePart(ctx, part); err != nil {
			return err
		}
		if err := b.write(p.record); err != nil {
			return err
		}
	}
	if b.filled {
		return b.emptied(ctx)
	}
	return nil
}

// write writes the ratios of the parts that have been measured to a file, if there is to be one.
func (b *rig) write(path string) error {
	if path == "" {
		return nil
	}
	text, err := b.record.Text("")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// measurePart measures a part, within its limit.
func (b *rig) measurePart(ctx context.Context, p part) error {
	ctx, stop := await.For(ctx, "the end of part "+p.name, b.limits.part)
	defer stop()
	if err := p.run(ctx); err != nil {
		return fmt.Errorf("part %s: %w", p.name, await.Cause(ctx, err))
	}
	b.record.Parts = append(b.record.Parts, p.name)
	return nil
}

// moment says when, what and on what is measured.
func moment(ctx context.Context) (string, error) {
	version, err := run(ctx, "gpusched", "version")
	if err != nil {
		return "", err
	}
	version, _, _ = strings.Cut(version, "\n")
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "", err
	}
	moved, err := move(ctx)
	if err != nil {
		return "", err
	}
	now, _, _ := strings.Cut(string(load), " ")
	return fmt.Sprintf("%s, %s, load %s on %d cores, %s to move a process between control groups",
		time.Now().UTC().Format("2006-01-02 15:04"), version, now, runtime.NumCPU(), seconds(moved.Seconds())), nil
}

// atOnce does the same n times, so many at once, and returns what went wrong.
func atOnce(workers, n int, do func(worker int) error) error {
	work := make(chan struct{}, n)
	for range n {
		work <- struct{}{}
	}
	close(work)
	var wg sync.WaitGroup
	errs := make([]error, workers)
	for i := range workers {
		wg.Go(func() {
			for range work {
				if errs[i] = do(i); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func row(what string, cells ...string) {
	fmt.Printf("| %s |", what)
	for _, c := range cells {
		fmt.Printf(" %s |", c)
	}
	fmt.Println()
}
