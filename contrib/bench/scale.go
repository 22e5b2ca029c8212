package main

import (
	"context"
	"fmt"
	"os"
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
