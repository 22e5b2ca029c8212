package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/terminal"
)

// attachCmd attaches to the terminal of a job.
type attachCmd struct {
	Raw bool `name:"raw"`

	ID string `arg:"" name:"id" help:"The job."`
}

func (*attachCmd) About() About {
	return About{
		Host: RunThere, Hosts: OneAtATime, Jobs: OneAtATime, Slurm: ForSlurm, Usual: true,
		Offers: Offers{Fits: isOn, Own: true},
	}
}

func (c *attachCmd) Run(ctx context.Context, a *app) error {
	reply, err := a.job(ctx, c.ID)
	if err != nil {
		return err
	}
	j := reply.Job
	if done, err := a.enterElsewhere(j, nil); done {
		return err
	}
	if p := j.Private; p != nil && !p.TTY && !j.Screen && !j.State.Terminal() {
		name := nameOfJob(j)
		a.note("job %s has no terminal: this is what it prints, as 'gpusched logs -f %s' shows it; "+
			"'gpusched exec %s -- bash' is a shell beside it", name, name, name)
		a.err.W.Flush()
		return (&logsCmd{IDs: []string{name}, Follow: true, Lines: screenLines}).Run(ctx, a)
	}
	if !a.onTerminal() {
		return errNoTerminal()
	}
	s, err := a.reach(ctx, j, visit{raw: c.Raw})
	if err != nil {
		return err
	}
	at := &attendance{a: a, job: j, tty: true, raw: c.Raw, line: &liveLine{t: a.err, typed: a.asTyped}}
	return at.inTerminal(ctx, s)
}

// screenLines is how much of what a job without a terminal has printed is shown to who
// attaches.
const screenLines = 50

// errNoTerminal is for what needs one on this side.
func errNoTerminal() error {
	return refuse(api.CodeUsage, "without a terminal there are 'gpusched run' and 'gpusched logs -f'",
		"there is no terminal here: input and output must both be one")
}

// reach connects with the holder of a job's terminal, or for a command with what runs
// those in its unit, or says why not.
func (a *app) reach(ctx context.Context, j api.Job, v visit) (*session, error) {
	name := nameOfJob(j)
	switch {
	case !a.owns(&j) && a.uid != 0:
		return nil, refuse(api.CodeForbidden, "root can do so too", "job %s is for %s to work in", name, j.User)
	case j.State.Terminal():
		return nil, refuse(api.CodeConflict, "see 'gpusched logs "+name+"'", "job %s has ended: %s", name, a.resultOf(j))
	case j.State == job.Queued:
		return nil, refuse(api.CodeConflict, "see 'gpusched why "+name+"'", "job %s is queued%s", name, a.because(j))
	case j.Suspended():
		return nil, refuse(api.CodeConflict, "'gpusched resume "+name+"' lets it go on",
			"job %s is suspended by %s, and its terminal with it", name, j.SuspendedBy)
	}
	s, err := a.greet(j, v)
	if errors.Is(err, terminal.ErrNone) && len(v.argv) > 0 {
		if _, err := api.ActOnJob(ctx, a.client, api.RouteOpen, name, nil); err != nil {
			return nil, err
		}
		s, err = a.greet(j, v)
	}
	var seen *terminal.UnreachedError
	if errors.As(err, &seen) {
		return nil, refuse(api.CodeConflict, "try again; what it prints is in 'gpusched logs -f "+name+"'",
			"job %s can't be reached: %v", name, seen)
	}
	if errors.Is(err, terminal.ErrNone) {
		return nil, refuse(api.CodeConflict, "see it from the machine itself, not from a container or another network namespace; "+
			"what it prints is in 'gpusched logs -f "+name+"'", "job %s can't be reached", name)
	}
	return s, err
}

// inTerminal stays in the terminal of a job from the session s on, or from its next one,
// over all its starts, and ends as the job does where that ends meanwhile.
func (at *attendance) inTerminal(ctx context.Context, s *session) error {
	for {
		if s == nil {
			var err error
			if s, err = at.untilTerminal(context.WithoutCancel(ctx)); err != nil || s == nil {
				return err
			}
			again := ""
			if at.seen > 0 {
				again = " again"
			}
			at.line.note("job %s runs%s; Ctrl-P Ctrl-Q leaves it", nameOfJob(at.job), again)
		}
		again, err := at.inSession(ctx, s)
		if !again {
			return err
		}
		at.seen, s = at.job.Attempt, nil
	}
}

// inSession stays in the terminal for one start of the job, and reports whether the job
// is to start again.
func (at *attendance) inSession(ctx context.Context, s *session) (again bool, err error) {
	status, err := s.run(ctx)
	a, name := at.a, nameOfJob(at.job)
	var refused *api.Error
	switch {
	case errors.Is(err, errDetached):
		a.err.Printf("\n") // from the middle of a line, it may be
		a.note("job %s goes on: 'gpusched attach %s' comes back, 'gpusched cancel %s' ends it", name, name, name)
		return false, nil
	case ctx.Err() != nil:
		a.note("job %s goes on: 'gpusched attach %s' comes back, 'gpusched cancel %s' ends it", name, name, name)
		return false, exitStatus(statusInterrupted)
	case errors.As(err, &refused):
		return false, refused
	case err == nil:
		return at.sessionOver(ctx, status)
	}
	if reply, asked := at.untilOver(ctx, cutTime); asked == nil && at.runs(reply.Job) {
		return false, &failure{refuse(api.CodeInternal, "'gpusched attach "+name+"' comes back", "%s; job %s goes on", errCut, name)}
	}
	return at.sessionOver(ctx, statusFailure)
}

// sessionOver ends as the job did; of one that goes back to the queue that is said, and
// that it starts again. The scheduler's word is better than that of the terminal, which
// serves without it.
func (at *attendance) sessionOver(ctx context.Context, status int) (again bool, err error) {
	reply, err := at.untilOver(ctx, overTime)
	name := nameOfJob(at.job)
	switch {
	case err != nil:
		at.line.note("job %s: its command has ended with %d; %v", name, status, err)
		return false, exitStatus(status)
	case reply.Job.State.Terminal():
		at.line.note("job %s %s", name, at.a.resultOf(reply.Job))
		return false, statusOf([]api.Job{reply.Job})
	case at.runs(reply.Job):
		at.line.note("job %s: its command has ended with %d; the scheduler has not taken note yet", name, status)
		return false, exitStatus(status)
	}
	how := "has been stopped"
	if i := slices.IndexFunc(reply.Attempts, func(b api.Attempt) bool { return b.Number == at.job.Attempt }); i >= 0 {
		if r := reply.Attempts[i].Result; r != nil {
			how += ": " + at.a.err.Reader().Shown(r)
		}
	}
	at.line.note("job %s %s; it starts again, and you will be in its terminal then (Ctrl-C leaves it)", name, how)
	return true, nil
}

// How long the scheduler may take to record the end of a job whose terminal said that
// it has ended, or was cut off.
const (
	overTime = 10 * time.Second
	cutTime  = 2 * time.Second
)

// runs reports whether the start of the job is under way in whose terminal we were.
func (at *attendance) runs(j api.Job) bool {
	return !j.State.Terminal() && j.State != job.Queued && j.Attempt == at.job.Attempt
}

// untilOver returns the job when that start of it is over, or after the time as it is.
func (at *attendance) untilOver(ctx context.Context, most time.Duration) (reply api.JobReply, err error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for pause := firstLook; ; pause = min(2*pause, waitLook) {
		now, asked := api.Show(ctx, at.a.client, at.job.ID.String(), api.JobQuery{})
		if asked == nil || reply.Job.ID == 0 {
			reply, err = now, asked
		}
		if asked == nil && !at.runs(reply.Job) {
			return reply, nil
		}
		select {
		case <-ctx.Done():
			return reply, err
		case <-time.After(pause):
		}
	}
}

// onTerminal reports whether a person can work in a session here.
func (a *app) onTerminal() bool { return a.interactive && a.out.TTY }
