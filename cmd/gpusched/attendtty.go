package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/terminal"
)

// attendTerminal waits for a job to start and is then in its terminal. While it waits
// Ctrl-C leaves the job alone, and once more cancels it.
func (a *app) attendTerminal(ctx context.Context, j api.Job, quiet bool) error {
	at := &attendance{a: a, job: j, tty: true, line: &liveLine{t: a.err, quiet: quiet}}
	ctx = context.WithoutCancel(ctx)
	s, err := at.untilTerminal(ctx)
	if err != nil || s == nil {
		return err
	}
	at.line.note("job %s runs; Ctrl-P Ctrl-Q leaves it", nameOfJob(at.job))
	return a.inSession(ctx, at.job, s)
}

// untilTerminal returns a session in the terminal of the job when that is there. Where
// it returns none the error is how this ends.
func (at *attendance) untilTerminal(ctx context.Context) (*session, error) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	began := time.Now()
	for pause := firstLook; ; {
		reply, err := at.a.client.Job(ctx, at.job.ID.String())
		var e *api.Error
		switch {
		case errors.As(err, &e) && (e.Code == api.CodeUnreachable || e.Code == api.CodeUnavailable):
		case err != nil:
			return nil, at.leave(ctx, err, signals)
		case reply.Job.State.Terminal():
			at.line.note("job %s %s", nameOfJob(reply.Job), resultOf(reply.Job))
			return nil, statusOf([]api.Job{reply.Job})
		case reply.Job.State != job.Queued:
			at.job = reply.Job
			s, err := at.a.greet(at.job, nil)
			if !errors.Is(err, terminal.ErrNone) {
				return s, err
			}
			pause = firstLook // it is about to be there
		default:
			at.line.show(reply.Job, at.a.ahead(ctx, reply.Job))
			pause = min(2*pause, waitLook)
		}
		if time.Since(began) < quickStart {
			pause = firstLook
		}
		select {
		case s := <-signals:
			return nil, at.leave(ctx, interrupted{s}, signals)
		case <-time.After(pause):
		}
	}
}

// quickStart is how long a job is looked at often.
const quickStart = time.Second
