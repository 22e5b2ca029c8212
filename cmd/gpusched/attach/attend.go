package attach

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/act"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/logs"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// These are the times between looks at a job: short at first, since most jobs start at once.
const (
	firstLook = 50 * time.Millisecond
	waitLook  = time.Second
	runLook   = 5 * time.Second
)

// A second Ctrl-C within cancelWindow after the first one cancels the job.
const cancelWindow = 2 * time.Second

// An attendance follows one job until the job ends.
type attendance struct {
	a    *cli.App
	job  api.Job
	tty  bool // the job has a terminal
	raw  bool // print another user's output unfiltered on this terminal
	seen int  // the last attempt whose terminal was shown
	line *liveLine
	pipe *logs.WatchedWriter // the writer of the job's output
}

// Attend stays with a job until the job ends. It shows why the job waits, prints its output and
// returns its exit status. Ctrl-C leaves the job running; a second Ctrl-C cancels it.
func Attend(ctx context.Context, a *cli.App, j api.Job, quiet bool) error {
	quiet = quiet || a.As.Strict
	at := &attendance{a: a, job: j, line: &liveLine{t: a.Err, typed: a.AsTyped, quiet: quiet}}
	at.pipe = at.output()
	at.line.showJob(j, nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx = context.WithoutCancel(ctx) // the first signal only leaves the job
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	shown := at.startOutput(ctx)
	reply, err := at.untilEnd(waiting, signals)
	if err != nil {
		shown(nil)
		return at.endEarly(ctx, err, signals)
	}
	shown(&reply.Job)
	a.Out.W.Flush()
	if !quiet {
		at.line.printLine("job %s %s", cli.NameOfJob(j), a.ResultOf(reply.Job))
	}
	return cli.StatusOf([]api.Job{reply.Job})
}

// output returns the writer of the job's output.
func (at *attendance) output() *logs.WatchedWriter {
	return &logs.WatchedWriter{W: at.line.clearingWriter(at.a.Out.W), Last: time.Now()}
}

// startOutput starts to print the job's output. It returns a function that ends the printing. If
// that function gets nil, the printing stops at once. If the function gets the ended job, the
// remaining output is printed first.
func (at *attendance) startOutput(ctx context.Context) (end func(ended *api.Job)) {
	reading, stop := context.WithCancel(ctx)
	at.job = logs.WithLog(ctx, at.a, at.job)
	byLog := logs.LogServes(at.a, at.job)
	read, over := make(chan error, 1), make(chan struct{})
	go func() { read <- at.readOutput(reading, byLog, over) }()
	return func(ended *api.Job) {
		switch {
		case ended == nil:
			stop()
		case at.job.Engine != "":
			at.pipe.Settle(ctx)
			stop()
		case byLog: // the reader ends by itself at the end of the log
			defer time.AfterFunc(logs.SettleMax, stop).Stop()
		default:
			close(over)
		}
		err := <-read
		stop()
		at.sayUnseen(ctx, err, ended)
	}
}

// sayUnseen tells the user why output was not shown, or may be incomplete.
func (at *attendance) sayUnseen(ctx context.Context, err error, ended *api.Job) {
	if errors.Is(err, logs.ErrBehind) {
		at.line.printLine("%s", logs.MaybeMore(at.job))
		return
	}
	begun := ended != nil && ended.Attempt > 0
	if begun && !at.pipe.Wrote && ended.Engine == "" {
		if text := logs.Unseen(at.a, logs.WithLog(ctx, at.a, *ended)); text != "" {
			at.line.printLine("%s", text)
			return
		}
	}
	if err != nil && !errors.Is(err, context.Canceled) && (begun || ended == nil) {
		at.line.printLine("the output of job %s is not shown: %s", cli.NameOfJob(at.job), err)
	}
}

// readOutput prints the output of all attempts. If byLog is set, it reads the job's log until the
// job has ended. Otherwise it reads until ctx is done, or until its last argument, a channel, is
// closed and everything is printed.
func (at *attendance) readOutput(ctx context.Context, byLog bool, over <-chan struct{}) error {
	if done, err := logs.OutputByEngine(ctx, at.a, at.job, at.pipe); done {
		return err
	}
	path, err := exec.LookPath("journalctl")
	switch {
	case byLog && err == nil:
		return at.readLog(ctx, path)
	case !byLog:
		err = cmp.Or(logs.JournalReadable(at.a, at.job), err)
	}
	if err != nil {
		return err
	}
	return at.readJournal(ctx, path, over)
}

// readJournal prints the output of all attempts from the journal. It returns when ctx is done, or
// when its last argument, a channel, is closed and everything is printed.
func (at *attendance) readJournal(ctx context.Context, path string, over <-chan struct{}) error {
	lines := &logs.LineJoiner{W: at.pipe}
	starts := &ownStarts{jobs: at.a.Client, job: at.job, known: map[string]bool{}}
	tail := logs.JournalTail{Job: at.job, Path: path, Out: at.pipe, Each: func(e logs.Entry) error {
		if !starts.isOurs(ctx, e) {
			at.pipe.Skip()
			return nil
		}
		return lines.Write(e)
	}}
	tail.Which = append([]string{"--output-fields=" + logs.PlacedField + "," + logs.InvocationField}, cli.AllLines(at.job)...)
	err := logs.TailJournal(ctx, at.a, tail, over)
	if at.a.Out.TTY {
		lines.End()
	}
	if lines.ByName {
		at.line.printLine(logs.ByNameHint)
	}
	return err
}

// A signalError is the error that a signal causes.
type signalError struct{ os.Signal }

func (i signalError) Error() string { return i.String() }

// untilEnd waits until the job ends. Meanwhile it shows the job's state.
func (at *attendance) untilEnd(ctx context.Context, signals <-chan os.Signal) (api.JobReply, error) {
	type end struct {
		reply api.JobReply
		err   error
	}
	ended := make(chan end, 1)
	go func() {
		reply, err := api.Wait(ctx, at.a.Client, at.job.ID.String(), 0)
		ended <- end{reply, err}
	}()
	for pause := firstLook; ; {
		look := time.NewTimer(pause)
		select {
		case e := <-ended:
			return e.reply, e.err
		case s := <-signals:
			return api.JobReply{}, signalError{s}
		case <-look.C:
			pause = at.showState(ctx, pause)
		}
	}
}

// showState shows the job's state, and returns the delay before its next call.
func (at *attendance) showState(ctx context.Context, last time.Duration) time.Duration {
	now, err := api.Show(ctx, at.a.Client, at.job.ID.String(), api.JobQuery{})
	if err != nil {
		return waitLook // the request in untilEnd reports the error
	}
	j := now.Job
	at.line.showJob(j, ahead(ctx, at.a, j))
	if j.StartedAt.IsZero() {
		return min(2*last, waitLook)
	}
	return runLook
}

// endEarly ends the attendance before the job has ended, because of a signal or an error.
func (at *attendance) endEarly(ctx context.Context, err error, signals <-chan os.Signal) error {
	var by signalError
	if !errors.As(err, &by) {
		at.line.printLine("%s", at.comeBack())
		return cli.WaitError(ctx, err)
	}
	if by.Signal != os.Interrupt {
		at.line.printLine("%s", at.comeBack())
		return cli.ExitStatus(cli.StatusInterrupted)
	}
	at.line.printLine("%s; Ctrl-C once more cancels it now", at.comeBack())
	select {
	case <-time.After(cancelWindow):
		return cli.ExitStatus(cli.StatusInterrupted)
	case <-signals:
	}
	reply, err := api.ActOnJob(ctx, at.a.Client, api.RouteCancel, at.job.ID.String(), api.CancelRequest{})
	if err != nil {
		return cli.WaitError(ctx, err)
	}
	at.line.printLine("job %s %s", cli.NameOfJob(at.job), (&act.CancelCmd{}).Said(at.a, reply.Job))
	return cli.ExitStatus(cli.StatusInterrupted)
}

// ahead returns the first jobs of the queue if the job itself is queued.
func ahead(ctx context.Context, a *cli.App, j api.Job) []api.Job {
	if j.State != job.Queued {
		return nil
	}
	status, _ := api.Status(ctx, a.Client) // if this fails, the place in the queue is not shown
	return status.Waiting
}
