package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// A queuer is a scheduler that jobs are queued with while none can start.
type queuer struct {
	name    string
	line    string // queues a job that does nothing
	set     []func(*exec.Cmd)
	close   func(ctx context.Context) error              // from now on no job starts
	open    func(ctx context.Context) error              // and now they do
	drained func(ctx context.Context, said string) error // waits until all have ended; said is what the lines printed
	clear   func(ctx context.Context) error              // does away with what waits; nil: it can be drained as fast
}

// rateOf is how many jobs a second end, from when they may start to the end of the last.
func (b *rig) rateOf(ctx context.Context, q queuer, jobs int) (float64, error) {
	said, _, err := b.fill(ctx, q, jobs)
	if err != nil {
		return 0, err
	}
	from := time.Now()
	if err := q.open(ctx); err != nil {
		return 0, err
	}
	err = q.drained(ctx, said)
	return float64(jobs) / time.Since(from).Seconds(), err
}

// queueing is how many jobs a second a shell loop queues.
func (b *rig) queueing(ctx context.Context, q queuer, jobs int) (float64, error) {
	said, d, err := b.fill(ctx, q, jobs)
	if err == nil && q.clear != nil {
		err = q.clear(ctx)
	}
	if err == nil {
		err = q.open(ctx)
	}
	if err == nil && q.clear == nil {
		err = q.drained(ctx, said)
	}
	return float64(jobs) / d.Seconds(), err
}

// fill queues jobs that can't start. If that fails, they may start.
func (b *rig) fill(ctx context.Context, q queuer, jobs int) (string, time.Duration, error) {
	if err := q.close(ctx); err != nil {
		return "", 0, err
	}
	said, d, err := b.loop(ctx, jobs, q.line, q.set...)
	if err != nil {
		err = errors.Join(err, q.open(ctx))
	}
	return said, d, err
}

// ours is gpusched, with its GPUs paused.
func (b *rig) ours() queuer {
	root := func(words ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := run(ctx, append([]string{"gpusched"}, words...)...)
			return err
		}
	}
	return queuer{
		name: "gpusched", line: "gpusched submit -q --env clean -- true",
		close: root("gpu", "pause", gpuRange), open: root("gpu", "resume", gpuRange), clear: root("cancel", "--all", "-y"),
		drained: func(ctx context.Context, said string) error {
			_, err := b.as(ctx, append([]string{"gpusched", "wait"}, strings.Fields(said)...)...)
			return err
		},
	}
}

// gpuRange is all GPUs.
const gpuRange = "0-3"

// spoolers is task-spooler, with a job that keeps its one slot until it may have all.
func (b *rig) spoolers() queuer {
	var holding *mark
	return queuer{
		name: spooler, line: "tsp -n true", set: []func(*exec.Cmd){b.asSpooler},
		close: func(ctx context.Context) (err error) {
			if holding, err = b.newMark(); err != nil {
				return err
			}
			if err := b.spool(ctx, "-S", "1"); err != nil {
				return err
			}
			return b.spool(ctx, "-n", "/bin/sh", "-c", "read x <"+holding.path)
		},
		open: func(ctx context.Context) error {
			return errors.Join(b.spool(ctx, "-S", fmt.Sprint(slots)), holding.release())
		},
		drained: func(ctx context.Context, _ string) error {
			defer holding.close()
			return b.spool(ctx, "-w") // for the one queued last
		},
	}
}

// slurms is Slurm, with its partition down.
func (b *rig) slurms() queuer {
	partition := func(state string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := b.slurm(ctx, "scontrol", "update", "PartitionName=all", "State="+state)
			return err
		}
	}
	return queuer{
		name: sbatch, line: "sbatch -Q -n1 -o /dev/null --wrap true", set: []func(*exec.Cmd){b.asSlurm},
		close: partition("DOWN"), open: partition("UP"), clear: b.slurmCancel,
		drained: func(ctx context.Context, _ string) error { return b.slurmEmpty(ctx) },
	}
}

// slurmCancel does away with every job of Slurm's.
func (b *rig) slurmCancel(ctx context.Context) error {
	if _, err := b.slurm(ctx, "scancel", "--state=PENDING", "--partition=all"); err != nil {
		return err
	}
	return b.slurmEmpty(ctx)
}
