package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// The names of what is compared.
const (
	ofStart    = "start of the client to the command's first instruction"
	ofHandover = "end of a command to the first instruction of the next on its GPU"
	bareUnit   = "bare unit"
	systemdRun = "systemd-run --wait"
	spooler    = "task-spooler"
	slurmRun   = "Slurm's srun"
)

// start measures from a request to the first instruction of the command: a bare unit, systemd-run,
// task-spooler, Slurm, and gpusched submit, each from the start of its process. They take turns.
func (b *rig) start(ctx context.Context, runs int) error {
	p, err := b.findPeers(ctx)
	if err != nil {
		return err
	}
	defer p.end()
	t := &board{part: "start", unit: seconds}
	all := []contender{
		{name: bareUnit, measure: b.latency(ctx, b.bareStart)},
		{name: systemdRun, measure: b.latency(ctx, b.systemdRunStart)},
		{name: ofStart, measure: b.latency(ctx, b.submitStart)},
	}
	if p.spooler {
		all = append(all, contender{name: spooler, measure: b.latency(ctx, b.spoolerStart)})
	}
	if p.slurm {
		all = append(all, contender{name: slurmRun, every: 2, measure: b.latency(ctx, b.slurmStart)})
	}
	if err := t.take(runs, all); err != nil {
		return err
	}
	head()
	b.compare(t, ofStart, false, bareUnit, systemdRun, spooler, slurmRun)
	return nil
}

// A starter begins the command of a mark; after waits until all of it is over.
type starter func(ctx context.Context, m *mark) (after func() error, err error)

// latency is how long a starter takes to the first instruction, in seconds.
func (b *rig) latency(ctx context.Context, begin starter) func() (float64, error) {
	return func() (float64, error) {
		after := func() error { return nil }
		d, err := b.measure(func(m *mark) (err error) {
			after, err = begin(ctx, m)
			return err
		})
		if err == nil {
			err = after()
		}
		return d.Seconds(), err
	}
}

func (b *rig) bareStart(ctx context.Context, m *mark) (func() error, error) {
	name, err := b.bare(ctx, m.command())
	return func() error { return b.stop(ctx, name) }, err
}

func (b *rig) systemdRunStart(ctx context.Context, m *mark) (func() error, error) {
	_, err := await.Output(ctx, b.limits.command, append(b.systemdRunWords(), m.command()...))
	return func() error { return nil }, err
}

func (b *rig) systemdRunWords() []string {
	return []string{"systemd-run", "--quiet", "--wait", "--collect", fmt.Sprintf("--uid=%d", b.uid)}
}

func (b *rig) submitStart(ctx context.Context, m *mark) (func() error, error) {
	id, err := b.as(ctx, append([]string{"gpusched", "submit", "-q", "-g", "1", "--"}, m.command()...)...)
	return func() error {
		_, err := b.as(ctx, "gpusched", "wait", id)
		return err
	}, err
}

// handover measures from the end of a job's command to the first instruction of the one that waits for its GPU, in
// turns with the start of a bare unit.
func (b *rig) handover(ctx context.Context, runs int) error {
	t := &board{part: "handover", unit: seconds}
	all := []contender{
		{name: bareUnit, measure: b.latency(ctx, b.bareStart)},
		{name: ofHandover, measure: func() (float64, error) {
			d, err := b.handedOn(ctx)
			return d.Seconds(), err
		}},
	}
	if err := t.take(runs, all); err != nil {
		return err
	}
	head()
	b.compare(t, ofHandover, false, bareUnit)
	return nil
}

// handedOn is one such time: from when the command that has the GPU may end.
func (b *rig) handedOn(ctx context.Context) (time.Duration, error) {
	holding, err := b.newMark()
	if err != nil {
		return 0, err
	}
	defer holding.close()
	leave, err := b.newMark()
	if err != nil {
		return 0, err
	}
	defer leave.close()
	submit := []string{"gpusched", "submit", "-q", "--gpu-ids", "0", "--"}
	holder, err := b.as(ctx, append(submit, "/bin/sh", "-c", "echo >"+holding.path+"; read x <"+leave.path)...)
	if err == nil {
		_, err = holding.begun(b.limits.begin)
	}
	if err != nil {
		return 0, err
	}
	next := ""
	m, err := b.newMark()
	if err != nil {
		return 0, err
	}
	defer m.close()
	if next, err = b.as(ctx, append(submit, m.command()...)...); err != nil {
		return 0, err
	}
	d, err := b.until(m, leave.release)
	if err == nil {
		_, err = b.as(ctx, "gpusched", "wait", holder, next)
	}
	return d, err
}
