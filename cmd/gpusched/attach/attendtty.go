package attach

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/terminal"
)

// AttendTerminal waits for a job to start and then stays in its terminal. Until the start, Ctrl-C
// leaves the job queued, and a second Ctrl-C cancels it.
func AttendTerminal(ctx context.Context, a *cli.App, j api.Job, quiet bool) error {
	at := &attendance{a: a, job: j, tty: true, line: &liveLine{t: a.Err, typed: a.AsTyped, quiet: quiet}}
	return at.inTerminal(ctx, nil)
}

// untilTerminal waits for the job's next attempt and returns a session with its terminal. If it
// returns no session, the error is the result of the command.
func (at *attendance) untilTerminal(ctx context.Context) (*session, error) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	began, begun := time.Now(), new(absence)
	for pause := firstLook; ; {
		reply, err := api.Show(ctx, at.a.Client, at.job.ID.String(), api.JobQuery{})
		var e *api.Error
		switch {
		case errors.As(err, &e) && (e.Code == api.CodeUnreachable || e.Code == api.CodeUnavailable):
		case err != nil:
			return nil, at.endEarly(ctx, err, signals)
		case reply.Job.State.Terminal():
			at.showMissed(ctx, reply.Job)
			at.line.printLine("job %s %s", cli.NameOfJob(reply.Job), at.a.ResultOf(reply.Job))
			return nil, cli.StatusOf([]api.Job{reply.Job})
		case reply.Job.State != job.Queued && reply.Job.Attempt > at.seen:
			at.job = reply.Job
			s, err := connect(at.a, at.job, sessionOptions{raw: at.raw})
			if !errors.Is(err, terminal.ErrNone) {
				return s, err
			}
			begun.noteMissing(at, time.Now())
		default:
			begun = new(absence)
			at.line.showJob(reply.Job, ahead(ctx, at.a, reply.Job))
		}
		pause = min(2*pause, waitLook)
		if begun.isNew(time.Now()) || time.Since(began) < quickStart {
			pause = firstLook
		}
		select {
		case s := <-signals:
			return nil, at.endEarly(ctx, signalError{s}, signals)
		case <-time.After(pause):
		}
	}
}

// Await shows the reasons for which a job waits, until the job runs or has ended. It returns the
// job.
func Await(ctx context.Context, a *cli.App, j api.Job) (api.Job, error) {
	line, began := &liveLine{t: a.Err, typed: a.AsTyped}, time.Now()
	for pause := firstLook; ; pause = min(2*pause, waitLook) {
		reply, err := api.Show(ctx, a.Client, j.ID.String(), api.JobQuery{})
		var e *api.Error
		switch {
		case ctx.Err() != nil:
		case errors.As(err, &e) && (e.Code == api.CodeUnreachable || e.Code == api.CodeUnavailable):
		case err != nil || reply.Job.State.Terminal() || reply.Job.State == job.Running:
			return reply.Job, err
		default:
			line.showJob(reply.Job, ahead(ctx, a, reply.Job))
		}
		switch since := time.Since(began); {
		case since < quickStart/5:
			pause = quickLook
		case since < quickStart:
			pause = firstLook
		}
		select {
		case <-ctx.Done():
			return j, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// showMissed prints the output of a job that ended before its terminal could be shown.
func (at *attendance) showMissed(ctx context.Context, j api.Job) {
	if at.seen > 0 || j.Attempt == 0 {
		return
	}
	at.job, at.pipe = j, at.output()
	at.startOutput(ctx)(&j)
	at.a.Out.W.Flush()
}

const (
	// quickStart is how long a starting job is polled at short intervals: at first every
	// quickLook, since most jobs run after some 30 ms.
	quickStart = time.Second
	quickLook  = 10 * time.Millisecond
	// longStart is how long the terminal of a started job may be missing before the user is told.
	longStart = 3 * time.Second
)

// An absence records how long the terminal of a started job has been missing.
type absence struct {
	since time.Time // zero if the terminal is not missing
	said  bool
}

// isNew reports whether the terminal has been missing for less than quickStart.
func (n *absence) isNew(now time.Time) bool {
	return !n.since.IsZero() && now.Sub(n.since) < quickStart
}

// noteMissing notes that the terminal is still missing, and tells the user once.
func (n *absence) noteMissing(at *attendance, now time.Time) {
	if n.since.IsZero() {
		n.since = now
	}
	if n.said || now.Sub(n.since) < longStart {
		return
	}
	n.said = true
	name := cli.NameOfJob(at.job)
	at.line.printLine("job %s has started, but its terminal is not there yet: its set-up may still run, or this is a container or another "+
		"network namespace, from which it can't be reached; 'gpusched logs -f %s' shows its output", name, name)
}
