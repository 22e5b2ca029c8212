package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// scaleConfig lets one account run and queue as much as is measured.
const (
	scaleFile   = "/etc/gpusched/conf.d/99-bench.toml"
	scaleConfig = "[jobs]\ndefault_mem = \"none\"\nmax_running = 100000\nmax_queued = 1000000\n[quota.default]\nqueued = \"none\"\n[limits]\nrequests = 100000\nburst = 1000000\n"
)

// gpuCount is how many GPUs the machine of 'make bench' has.
const gpuCount = 4

// scale measures the daemon with many jobs that run, then with many that wait:
// memory, answers, and how soon it is back after kill -9.
func (b *rig) scale(ctx context.Context, running, queued int) error {
	if err := b.configure(ctx); err != nil {
		return err
	}
	defer os.Remove(scaleFile)
	if err := b.manyRunning(ctx, running); err != nil {
		return err
	}
	return b.manyQueued(ctx, queued)
}

// configure has the daemon take as many jobs as are measured.
func (b *rig) configure(ctx context.Context) error {
	if err := os.MkdirAll("/etc/gpusched/conf.d", 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(scaleFile, []byte(scaleConfig), 0o644); err != nil {
		return err
	}
	_, err := run(ctx, "systemctl", "restart", "gpusched")
	return err
}

func (b *rig) manyRunning(ctx context.Context, n int) error {
	fmt.Printf("\n| %d jobs running at once | |\n|---|---|\n", n)
	from := time.Now()
	if _, err := b.submitOverSocket(ctx, n, 0, "sleep", "100000"); err != nil {
		return err
	}
	if err := b.counted(ctx, "running", n); err != nil {
		return err
	}
	row("from the first submission until all run", fmt.Sprintf("%.1f s, %.0f per second", time.Since(from).Seconds(),
		float64(n)/time.Since(from).Seconds()))
	if err := b.answers(ctx); err != nil {
		return err
	}
	if err := b.killed(ctx, "running", n); err != nil {
		return err
	}
	from = time.Now()
	if _, err := await.Output(ctx, b.limits.many, []string{"gpusched", "cancel", "--all", "-y"}); err != nil {
		return err
	}
	if err := b.counted(ctx, "running", 0); err != nil {
		return err
	}
	row("cancel --all until none runs", fmt.Sprintf("%.1f s", time.Since(from).Seconds()))
	return nil
}

// manyQueued has jobs wait behind those that have the GPUs, so that each waits for a reason that takes
// the scheduler a plan to tell.
func (b *rig) manyQueued(ctx context.Context, n int) error {
	if _, err := b.submitOverSocket(ctx, gpuCount, 1000, "sleep", "100000"); err != nil {
		return err
	}
	if err := b.counted(ctx, "running", gpuCount); err != nil {
		return err
	}
	fmt.Printf("\n| %d jobs queued | |\n|---|---|\n", n)
	rate, err := b.submitOverSocket(ctx, n, 1000, "true")
	if err != nil {
		return err
	}
	row("durable submissions, 16 connections", fmt.Sprintf("%.0f per second", rate))
	if err := b.answers(ctx); err != nil {
		return err
	}
	if err := b.killed(ctx, "queued", n); err != nil {
		return err
	}
	from := time.Now()
	if _, err := await.Output(ctx, b.limits.many, []string{"gpusched", "cancel", "--all", "-y"}); err != nil {
		return err
	}
	row("cancel --all", fmt.Sprintf("%.1f s", time.Since(from).Seconds()))
	return b.counted(ctx, "running", 0)
}

// answers measures what people ask most.
func (b *rig) answers(ctx context.Context) error {
	pid, err := mainPID(ctx)
	if err != nil {
		return err
	}
	row("resident memory", residentMemory(pid))
	id, err := b.lastJob(ctx)
	if err != nil {
		return err
	}
	for _, words := range []string{"gpusched list", "gpusched list -o ids", "gpusched list --user nobody", "gpusched status",
		"gpusched show " + id, "gpusched why " + id, "gpusched why --plan " + id, "gpusched metrics"} {
		what := strings.ReplaceAll(words, id, "of the last job")
		if err := b.processes(ctx, 20, words, what+", whole process"); err != nil {
			return err
		}
	}
	sooner, err := timed(20, func() error {
		_, err := run(ctx, "gpusched", "why", id)
		return err
	})
	if err != nil {
		return err
	}
	row("the same by its owner, who is told what would start it sooner", sooner.String())
	if err := b.top(ctx, pid); err != nil {
		return err
	}
	t, err := timed(200, func() error { return b.submitOne(ctx) })
	if err != nil {
		return err
	}
	row("a submission over the socket, held, until it is on disk", t.String())
	row("resident memory afterwards", residentMemory(pid))
	return nil
}

// killed measures from kill -9 of the daemon until its socket answers, until it
// counts all jobs again, and until it starts a new one.
func (b *rig) killed(ctx context.Context, state string, n int) error {
	pid, err := mainPID(ctx)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	from := time.Now()
	if err := syscall.Kill(number, syscall.SIGKILL); err != nil {
		return err
	}
	asking, stop := await.For(ctx, "an answer of the daemon's after kill -9", b.limits.begin)
	defer stop()
	if _, err := b.client().Version(asking); err != nil {
		return await.Cause(asking, err)
	}
	answered := time.Since(from)
	if err := b.counted(ctx, state, n); err != nil {
		return err
	}
	known := time.Since(from)
	out, err := b.as(ctx, "gpusched", "submit", "-q", "-g", "0", "--env", "clean", "--", "true")
	if err != nil {
		return err
	}
	if _, err := b.as(ctx, "gpusched", "wait", out); err != nil {
		return err
	}
	row("after kill -9: the socket answers, all jobs are counted, a new one has run",
		fmt.Sprintf("%.2f s, %.2f s, %.2f s (0.1 s of it systemd waits)", answered.Seconds(), known.Seconds(),
			time.Since(from).Seconds()))
	if pid, err = mainPID(ctx); err != nil {
		return err
	}
	row("resident memory then", residentMemory(pid))
	return nil
}

// counted waits until at least n jobs (none, for 0) are in the state.
func (b *rig) counted(ctx context.Context, state string, n int) error {
	return b.countedWithin(ctx, b.limits.many, state, n)
}

func (b *rig) countedWithin(ctx context.Context, limit time.Duration, state string, n int) error {
	client := b.client()
	what := fmt.Sprintf("%d jobs that are %s", n, state)
	return await.Until(ctx, what, limit, 20*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		s, err := client.Status(ctx)
		if err != nil && ctx.Err() == nil { // a daemon that was killed is about to come back
			return err.Error(), false, nil
		}
		have := s.Counts[state]
		return fmt.Sprint(s.Counts), n > 0 && have >= n || n == 0 && have == 0, err
	})
}

func mainPID(ctx context.Context) (string, error) {
	return run(ctx, "systemctl", "show", "-P", "MainPID", "gpusched")
}
