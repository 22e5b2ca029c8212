package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// plan is what to measure, and how much of it.
type plan struct {
	only                           string // part; "" is all of them
	runs, jobs, queued, keys, size int
	idle                           time.Duration
}

func main() {
	var p plan
	flag.IntVar(&p.runs, "n", 100, "runs of each latency")
	flag.IntVar(&p.jobs, "jobs", 200, "jobs of a throughput run")
	flag.IntVar(&p.queued, "queued", 10_000, "jobs queued for the daemon's figures")
	flag.IntVar(&p.keys, "keys", 500, "keys typed in each terminal")
	flag.IntVar(&p.size, "mib", 100, "MiB of output that a command prints")
	flag.DurationVar(&p.idle, "idle", time.Minute, "how long the idle daemon, and what has open pages, is watched")
	flag.StringVar(&p.only, "part", "", "only this: latency, handover, throughput, cli, terminal, output, page, or daemon")
	user := flag.Int("uid", 1001, "the account that submits")
	running := flag.Int("scale-running", 0, "measure with so many jobs running, and nothing else")
	waiting := flag.Int("scale-queued", 100_000, "then with so many waiting")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := error(nil)
	if *running > 0 {
		err = benchScale(ctx, *running, *waiting, *user)
	} else {
		err = bench(ctx, p, *user)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, p plan, uid int) error {
	b, err := newRig(ctx, uid)
	if err != nil {
		return err
	}
	defer b.close()
	for _, part := range []struct {
		name string
		run  func() error
	}{
		{"latency", func() error { return b.latency(ctx, p.runs) }},
		{"handover", func() error { return b.handover(ctx, p.runs/2) }},
		{"throughput", func() error { return b.throughput(ctx, p.jobs) }},
		{"cli", func() error { return b.cli(ctx, p.runs) }},
		{"terminal", func() error { return b.terminals(ctx, p.keys) }},
		{"output", func() error { return b.output(ctx, p.size) }},
		{"page", func() error { return b.page(ctx, p.idle) }},
		{"daemon", func() error { return b.daemon(ctx, p.queued, p.idle) }},
	} {
		if p.only != "" && p.only != part.name {
			continue
		}
		if err := part.run(); err != nil {
			return err
		}
	}
	return nil
}

func benchScale(ctx context.Context, running, queued, uid int) error {
	b, err := newRig(ctx, uid)
	if err != nil {
		return err
	}
	defer b.close()
	return b.scale(ctx, running, queued)
}

// times is a series of measured durations.
type times []time.Duration

// timed measures some runs of the same.
func timed(runs int, do func() error) (t times, err error) {
	for range runs {
		from := time.Now()
		if err := do(); err != nil {
			return nil, err
		}
		t = append(t, time.Since(from))
	}
	return t, nil
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

func (t times) quantile(q float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(t))
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

func (t times) String() string {
	return fmt.Sprintf("%s median, %s p99", ms(t.quantile(0.5)), ms(t.quantile(0.99)))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

func ratio(a, b time.Duration) string { return fmt.Sprintf("%.2f", float64(a)/float64(b)) }

func row(what string, cells ...string) {
	fmt.Printf("| %s |", what)
	for _, c := range cells {
		fmt.Printf(" %s |", c)
	}
	fmt.Println()
}
