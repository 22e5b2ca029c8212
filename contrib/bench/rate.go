package main

import (
	"context"
	"strings"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// slots is how many jobs run at once: one per GPU.
const slots = 4

// The names of what is compared.
const (
	ofRate     = "`true` on 4 GPUs, from the release of the queue"
	ofSubmit   = "a shell loop of submit"
	bareFour   = "bare units, 4 at a time"
	sbatch     = "Slurm's sbatch"
	slurmJobs  = 40 // Slurm ends a few a second
	slurmEvery = 3  // rounds
)

// rate measures many jobs that do nothing, in turns: loops of bare units and of systemd-run, and queues that are let
// go.
func (b *rig) rate(ctx context.Context, rounds, jobs int) error {
	p, err := b.findPeers(ctx)
	if err != nil {
		return err
	}
	defer p.end()
	bare := func(atATime int) func() (float64, error) {
		return func() (float64, error) { return b.bareRate(ctx, jobs, atATime) }
	}
	all := []contender{
		{name: bareUnit, measure: bare(1)},
		{name: bareFour, measure: bare(slots)},
		{name: systemdRun, measure: func() (float64, error) { return b.systemdRunRate(ctx, jobs) }},
		{name: ofRate, measure: func() (float64, error) { return b.rateOf(ctx, b.ours(), jobs) }},
	}
	if p.spooler {
		all = append(all, contender{name: spooler, measure: func() (float64, error) {
			return b.rateOf(ctx, b.spoolers(), jobs)
		}})
	}
	if p.slurm {
		all = append(all, contender{name: sbatch, every: slurmEvery, measure: func() (float64, error) {
			return b.rateOf(ctx, b.slurms(), slurmJobs)
		}})
	}
	t := &board{part: "rate", unit: perSecond}
	if err := t.take(rounds, all); err != nil {
		return err
	}
	head()
	b.compare(t, ofRate, true, bareUnit, bareFour, systemdRun, spooler, sbatch)
	return nil
}

// submitting measures shell loops of the clients that queue jobs.
func (b *rig) submitting(ctx context.Context, rounds, jobs int) error {
	p, err := b.findPeers(ctx)
	if err != nil {
		return err
	}
	defer p.end()
	queue := func(name string, q queuer) contender {
		return contender{name: name, measure: func() (float64, error) { return b.queueing(ctx, q, jobs) }}
	}
	all := []contender{queue(ofSubmit, b.ours())}
	if p.spooler {
		all = append(all, queue(spooler, b.spoolers()))
	}
	if p.slurm {
		all = append(all, queue(sbatch, b.slurms()))
	}
	t := &board{part: "submit", unit: perSecond}
	if err := t.take(rounds, all); err != nil {
		return err
	}
	head()
	b.compare(t, ofSubmit, true, sbatch, spooler)
	return nil
}

func (b *rig) bareRate(ctx context.Context, jobs, atATime int) (float64, error) {
	from := time.Now()
	err := atOnce(atATime, jobs, func(int) error { return b.bareToEnd(ctx, []string{"/bin/true"}) })
	return float64(jobs) / time.Since(from).Seconds(), err
}

// systemdRunRate is that of a shell loop of root's.
func (b *rig) systemdRunRate(ctx context.Context, jobs int) (float64, error) {
	from := time.Now()
	_, err := await.Output(ctx, b.limits.many, shellLoop(jobs, strings.Join(b.systemdRunWords(), " ")+" /bin/true"))
	return float64(jobs) / time.Since(from).Seconds(), err
}
