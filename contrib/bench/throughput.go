package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// slots is how many jobs run at once: one per GPU.
const slots = 4

// throughput measures many jobs that do nothing: bare units, so many at once
// as there are GPUs, and jobs that are queued while the GPUs are paused.
func (b *rig) throughput(ctx context.Context, jobs int) error {
	one, err := b.bareRate(ctx, jobs, 1)
	if err != nil {
		return err
	}
	four, err := b.bareRate(ctx, jobs, slots)
	if err != nil {
		return err
	}
	ours, queueing, err := b.jobRate(ctx, jobs)
	if err != nil {
		return err
	}
	fmt.Printf("\n| %d × true | per second | ratio to a bare loop |\n|---|---|---|\n", jobs)
	rate := func(d time.Duration) float64 { return float64(jobs) / d.Seconds() }
	row("bare StartTransientUnit to its collection, one at a time", fmt.Sprintf("%.0f", rate(one)), "1")
	row(fmt.Sprintf("the same, %d at a time", slots), fmt.Sprintf("%.0f", rate(four)),
		fmt.Sprintf("%.2f", rate(four)/rate(one)))
	row(fmt.Sprintf("gpusched on %d GPUs, from the release of the queue", slots), fmt.Sprintf("%.0f", rate(ours)),
		fmt.Sprintf("%.2f", rate(ours)/rate(one)))
	row("a shell loop of gpusched submit", fmt.Sprintf("%.0f", rate(queueing)), "")
	return nil
}

func (b *rig) bareRate(ctx context.Context, jobs, atATime int) (time.Duration, error) {
	from := time.Now()
	err := atOnce(atATime, jobs, func(int) error {
		name, err := b.bare(ctx, []string{"/bin/true"})
		if err == nil {
			err = b.exited(ctx, name)
		}
		if err == nil {
			err = b.stop(ctx, name)
		}
		return err
	})
	return time.Since(from), err
}

// jobRate queues jobs while all GPUs are paused, then lets them go.
func (b *rig) jobRate(ctx context.Context, jobs int) (running, queueing time.Duration, err error) {
	if _, err := run(ctx, "gpusched", "gpu", "pause", "0-3"); err != nil {
		return 0, 0, err
	}
	from := time.Now()
	last, err := b.as(ctx, "/bin/sh", "-c",
		fmt.Sprintf("i=0; while [ $i -lt %d ]; do gpusched submit -q --env clean -- true; i=$((i+1)); done", jobs))
	queueing = time.Since(from)
	if err != nil {
		return 0, 0, err
	}
	from = time.Now()
	if _, err := run(ctx, "gpusched", "gpu", "resume", "0-3"); err != nil {
		return 0, 0, err
	}
	_, err = b.as(ctx, append([]string{"gpusched", "wait"}, strings.Fields(last)...)...)
	return time.Since(from), queueing, err
}
