package daemon

import (
	"context"
	"errors"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
)

// warn sends a job the warning that it asked for.
func (d *Daemon) warn(ctx context.Context, a core.Signal) core.Event {
	ctx, cancel := d.host.Timeout(ctx, statusTime)
	defer cancel()
	err := d.signal(ctx, a.Job, a.Signal)
	return core.Signalled{Job: a.Job, Attempt: a.Attempt, OK: err == nil}
}

// signalEach sends the signals of the commands that the core has let pass. Whoever asked is
// answered after that.
func (d *Daemon) signalEach(ctx context.Context, who job.Actor, list []job.Command, each []job.Outcome) {
	ctx, cancel := d.host.Timeout(ctx, statusTime)
	defer cancel()
	for i := range each {
		if c := &list[i]; c.Kind == job.CommandSignal && each[i].Refusal == nil {
			each[i].Refusal = d.signalFor(ctx, who, c)
		}
	}
}

// signalFor sends the signal of a command.
func (d *Daemon) signalFor(ctx context.Context, who job.Actor, c *job.Command) *job.Refusal {
	err := d.signal(ctx, c.Job, c.Signal, "by", who.User)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, units.ErrAbsent):
		return job.Refuse("conflict/no-signal", c.Job, job.Ending)
	}
	return job.Refuse("unavailable/signal", c.Job, job.SignalName(c.Signal), err)
}

// signal sends a signal to all processes of a job.
func (d *Daemon) signal(ctx context.Context, id job.ID, signal int, fields ...any) error {
	fields = append([]any{"job", id, "signal", job.SignalName(signal)}, fields...)
	err := d.opt.Units.Kill(ctx, units.Name(int64(id)), signal)
	if err != nil {
		d.log.Warn("signalling a job", append(fields, "err", err)...)
		return err
	}
	d.log.Info("job signalled", fields...)
	return nil
}
