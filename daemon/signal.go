package daemon

import (
	"context"
	"errors"
	"slices"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
)

// warn sends a job the warning signal that it asked for, or a SIGKILL that must be sent now. If the
// unit belongs to somebody else, it sends nothing.
func (x *executor) warn(ctx context.Context, a core.Signal) core.Event {
	ctx, cancel := x.host.Timeout(ctx, statusTime)
	defer cancel()
	another, err := x.isAnothersNow(ctx, units.Name(int64(a.Job)), a.Whose)
	unsent := err != nil
	if !unsent && !another {
		err = x.kill(ctx, a.Job, a.Signal, a.Main)
	}
	if !another {
		x.reportSignal(a.Job, job.AimedSignal(a.Signal, a.Main), err)
	}
	return core.Signalled{
		Job: a.Job, Attempt: a.Attempt, OK: err == nil && !another, Unsent: unsent,
		Refused: another || err != nil && ctx.Err() == nil && !errors.Is(err, units.ErrBus),
	}
}

// sentSignals records which signals a request has sent so far.
type sentSignals struct {
	of    map[job.ID]error // result by job; a job that is named twice, by its id and by its array, gets one signal
	stuck error            // set if systemd did not answer in time; no more signals are sent then
}

// signalEach sends the signals of all commands that the core allowed. It sends them before the
// commands are answered.
func (x *executor) signalEach(ctx context.Context, who job.Actor, list []job.Command, each []job.Outcome) {
	sent := sentSignals{of: map[job.ID]error{}}
	for i := range each {
		if c := &list[i]; c.Kind == job.CommandSignal && each[i].Refusal == nil {
			each[i].Refusal = x.signalFor(ctx, who, c, &each[i], &sent)
		}
	}
}

// signalFor sends the signal of one command. It succeeds if at least one job got the signal, and
// sending did not fail for any job. Tasks that have ended meanwhile do not count as failed.
func (x *executor) signalFor(
	ctx context.Context, who job.Actor, c *job.Command, o *job.Outcome, sent *sentSignals,
) *job.Refusal {
	called := c.Job.String()
	if o.Job != nil {
		called = o.Job.Called()
	}
	if o.Job != nil && x.hasTerminal(ctx, &o.Job.Job) {
		passedOn := slices.Contains(mainProcessSignals(&o.Job.Request), c.Signal)
		if c.Main && !passedOn {
			return job.Refuse("conflict/signal-terminal", called)
		}
		own := *c
		own.Main = passedOn || o.Job.Request.RelaysSignal(c.Signal) // otherwise the job's command would get the signal twice
		c = &own
	}
	arrived := false
	for _, id := range o.Reached {
		switch err := x.signalOnce(ctx, id, c, who, sent); {
		case err == nil:
			arrived = true
		case !errors.Is(err, units.ErrAbsent):
			return job.Refuse("unavailable/signal", called, job.AimedSignal(c.Signal, c.Main), err)
		}
	}
	if arrived {
		return nil
	}
	return job.Refuse("conflict/no-signal", called, job.Ending)
}

// signalOnce sends a job the signal of a request. If the request has already sent the signal to
// this job, it does nothing.
func (x *executor) signalOnce(ctx context.Context, id job.ID, c *job.Command, who job.Actor, sent *sentSignals) error {
	if err, before := sent.of[id]; before {
		return err
	}
	if sent.stuck != nil {
		return sent.stuck
	}
	ctx, cancel := x.host.Timeout(ctx, statusTime)
	defer cancel()
	err := x.kill(ctx, id, c.Signal, c.Main)
	x.reportSignal(id, job.AimedSignal(c.Signal, c.Main), err, "by", who.User)
	if sent.of[id] = err; ctx.Err() != nil {
		sent.stuck = err
	}
	return err
}

// hasTerminal reports whether the main process of a job is not the job's command, but a process
// that holds the job's terminal or runs the job's container. That process passes on only the
// signals that were named at submission (launch.Spec.Aimed). Other signals can't be sent to the
// command alone.
func (x *executor) hasTerminal(ctx context.Context, j *job.Job) bool {
	p, err := x.opt.Store.Payload(ctx, j.PayloadID())
	return err == nil && p.TTY || j.Request.Screen || j.Request.ContainerEngine == contract.Podman
}

// kill sends a signal to all processes of a job, or only to its main process.
func (x *executor) kill(ctx context.Context, id job.ID, signal int, main bool) error {
	whom := units.All
	if main {
		whom = units.Main
	}
	return x.opt.Units.Kill(ctx, units.Name(int64(id)), signal, whom)
}

// reportSignal logs that a job got a signal, or why it did not.
func (x *executor) reportSignal(id job.ID, signal string, err error, fields ...any) {
	fields = append([]any{"job", id, "signal", signal}, fields...)
	if err != nil {
		x.log.Warn("signalling a job", append(fields, "err", err)...)
		return
	}
	x.log.Info("job signalled", fields...)
}
