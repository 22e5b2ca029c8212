package attach

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/logs"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/terminal"
)

// Cmd attaches to a job's terminal.
type Cmd struct {
	Raw bool `name:"raw"`

	ID string `arg:"" name:"id" help:"The job."`
}

func (*Cmd) About() cli.About {
	return cli.About{
		Host: cli.RunThere, Hosts: cli.OneAtATime, Jobs: cli.OneAtATime, Slurm: cli.ForSlurm, Usual: true,
		Offers: cli.Offers{Fits: cli.IsOn, Own: true},
	}
}

func (c *Cmd) Run(ctx context.Context, a *cli.App) error {
	reply, err := a.Job(ctx, c.ID)
	if err != nil {
		return err
	}
	j := reply.Job
	if done, err := enterByEngine(a, j, nil); done {
		return err
	}
	if p := j.Private; p != nil && !p.TTY && !j.Screen && !j.State.Terminal() {
		name := cli.NameOfJob(j)
		a.Note("job %s has no terminal: this is its output, as 'gpusched logs -f %s' shows it; "+
			"'gpusched exec %s -- bash' starts a shell inside it", name, name, name)
		a.Err.W.Flush()
		return (&logs.Cmd{IDs: []string{name}, Follow: true, Lines: screenLines}).Run(ctx, a)
	}
	if !a.OnTerminal() {
		return cli.ErrNoTerminal()
	}
	s, err := connectLauncher(ctx, a, j, sessionOptions{raw: c.Raw})
	if err != nil {
		return err
	}
	at := &attendance{a: a, job: j, tty: true, raw: c.Raw, line: &liveLine{t: a.Err, typed: a.AsTyped}}
	return at.inTerminal(ctx, s)
}

// screenLines is the number of earlier output lines that 'gpusched attach' shows if a job has no
// terminal.
const screenLines = 50

// connectLauncher connects to the launcher that holds a job's terminal. To run a command in a job,
// connectLauncher first makes the job accept commands. If the job can't accept them,
// connectLauncher returns the reason.
func connectLauncher(ctx context.Context, a *cli.App, j api.Job, v sessionOptions) (*session, error) {
	if err := whyNoTerminal(a, j); err != nil {
		return nil, err
	}
	name := cli.NameOfJob(j)
	s, err := connect(a, j, v)
	if errors.Is(err, terminal.ErrNone) && len(v.argv) > 0 {
		if _, err := api.ActOnJob(ctx, a.Client, api.RouteOpen, name, nil); err != nil {
			return nil, err
		}
		s, err = connect(a, j, v)
	}
	if errors.Is(err, terminal.ErrNone) { // the job may have ended meanwhile
		at := &attendance{a: a, job: j}
		if reply, asked := at.untilOver(ctx, cutTime); asked == nil {
			if why := whyNoTerminal(a, reply.Job); why != nil {
				return nil, why
			}
		}
	}
	var seen *terminal.UnreachedError
	if errors.As(err, &seen) {
		return nil, cli.Refuse(api.CodeConflict, "try again; its output is in 'gpusched logs -f "+name+"'",
			"job %s can't be reached: %v", name, seen)
	}
	if errors.Is(err, terminal.ErrNone) {
		return nil, cli.Refuse(api.CodeConflict, "attach from the machine itself, not from a container or another network namespace; "+
			"its output is in 'gpusched logs -f "+name+"'", "job %s can't be reached", name)
	}
	return s, err
}

// whyNoTerminal returns the reason why a job's terminal can't answer; nil if there is none.
func whyNoTerminal(a *cli.App, j api.Job) error {
	name := cli.NameOfJob(j)
	switch {
	case !a.Owns(&j) && a.UID != 0:
		return cli.Refuse(api.CodeForbidden, "only they and root can do that", "job %s belongs to %s", name, j.User)
	case j.State.Terminal():
		return cli.Refuse(api.CodeConflict, "see 'gpusched logs "+name+"'", "job %s has ended: %s", name, a.ResultOf(j))
	case j.State == job.Queued:
		return cli.Refuse(api.CodeConflict, "see 'gpusched why "+name+"'", "job %s is queued%s", name, a.Because(j))
	case j.Parked != nil && !j.Parked.Awake:
		return cli.Refuse(api.CodeConflict, "'gpusched unpark "+name+"' gets its GPUs back",
			"job %s is parked, so its terminal does not answer", name)
	case j.Suspended() && j.Parked == nil:
		return cli.Refuse(api.CodeConflict, "'gpusched resume "+name+"' lets it go on",
			"job %s is suspended by %s, so its terminal does not answer", name, j.SuspendedBy)
	}
	return nil
}

// inTerminal stays in the job's terminal through all attempts of the job. It begins with session s,
// or with the next attempt if s is nil. If the job ends, inTerminal returns the job's exit status.
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
			at.line.printLine("job %s runs%s; Ctrl-P Ctrl-Q leaves it", cli.NameOfJob(at.job), again)
		}
		again, err := at.inSession(ctx, s)
		if !again {
			return err
		}
		at.seen, s = at.job.Attempt, nil
	}
}

// inSession stays in the terminal for one attempt. The first result says whether the job will start
// again.
func (at *attendance) inSession(ctx context.Context, s *session) (requeued bool, err error) {
	status, err := s.run(ctx)
	a, name := at.a, cli.NameOfJob(at.job)
	var refused *api.Error
	switch {
	case errors.Is(err, errDetached):
		a.Err.Printf("\n") // the cursor may be in the middle of a line
		a.Note("job %s goes on: 'gpusched attach %s' comes back, 'gpusched cancel %s' ends it", name, name, name)
		return false, nil
	case ctx.Err() != nil:
		a.Note("job %s goes on: 'gpusched attach %s' comes back, 'gpusched cancel %s' ends it", name, name, name)
		return false, cli.ExitStatus(cli.StatusInterrupted)
	case errors.As(err, &refused):
		return false, refused
	case err == nil:
		return at.sessionOver(ctx, status)
	}
	reply, asked := at.untilOver(ctx, cutTime)
	if asked == nil && at.stillRuns(reply.Job) {
		return false, &cli.Failure{Cause: cli.Refuse(api.CodeInternal, "'gpusched attach "+name+"' comes back",
			"%s; job %s goes on", errCut, name)}
	}
	if !s.shown && reply.Job.State.Terminal() { // the launcher ended before it served this session
		at.showMissed(ctx, reply.Job)
	}
	return at.sessionOver(ctx, cli.StatusFailure)
}

// sessionOver returns the job's exit status. If the job was requeued, it prints that the job will
// start again. The launcher also sends a status, even if the scheduler is down; sessionOver prefers
// the scheduler's record.
func (at *attendance) sessionOver(ctx context.Context, status int) (requeued bool, err error) {
	reply, err := at.untilOver(ctx, overTime)
	name := cli.NameOfJob(at.job)
	switch {
	case err != nil:
		at.line.printLine("job %s: its command has ended with %d; %v", name, status, err)
		return false, cli.ExitStatus(status)
	case reply.Job.State.Terminal():
		at.line.printLine("job %s %s", name, at.a.ResultOf(reply.Job))
		return false, cli.StatusOf([]api.Job{reply.Job})
	case at.stillRuns(reply.Job):
		at.line.printLine("job %s: its command has ended with %d; the scheduler has not recorded that yet", name, status)
		return false, cli.ExitStatus(status)
	}
	how := "has been stopped"
	if i := slices.IndexFunc(reply.Attempts, func(b api.Attempt) bool { return b.Number == at.job.Attempt }); i >= 0 {
		if r := reply.Attempts[i].Result; r != nil {
			how += ": " + at.a.Err.Reader().Shown(r)
		}
	}
	at.line.printLine("job %s %s; it starts again, and its terminal is shown then (Ctrl-C leaves it)", name, how)
	return true, nil
}

// These are the longest waits until the scheduler records the end of a job: overTime after the
// job's terminal has reported the end, cutTime after the connection was cut.
const (
	overTime = 10 * time.Second
	cutTime  = 2 * time.Second
)

// stillRuns reports whether the attempt that had this terminal is still running.
func (at *attendance) stillRuns(j api.Job) bool {
	return !j.State.Terminal() && j.State != job.Queued && j.Attempt == at.job.Attempt
}

// untilOver waits for the end of the attempt and returns the job. If the attempt lasts longer than
// the limit, it returns the job in its current state.
func (at *attendance) untilOver(ctx context.Context, limit time.Duration) (reply api.JobReply, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for pause := firstLook; ; pause = min(2*pause, waitLook) {
		now, asked := api.Show(ctx, at.a.Client, at.job.ID.String(), api.JobQuery{})
		if asked == nil || reply.Job.ID == 0 {
			reply, err = now, asked
		}
		if asked == nil && !at.stillRuns(reply.Job) {
			return reply, nil
		}
		select {
		case <-ctx.Done():
			return reply, err
		case <-time.After(pause):
		}
	}
}
