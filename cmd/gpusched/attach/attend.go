package client

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// How often a job is looked at by who stays with it: the first times quickly, as most
// start at once, then seldom.
const (
	firstLook = 50 * time.Millisecond
	waitLook  = time.Second
	runLook   = 5 * time.Second
)

// secondThought is how long after the first Ctrl-C another one cancels the job.
const secondThought = 2 * time.Second

// attendance is one stay with a job until its end.
type attendance struct {
	a    *app
	job  api.Job
	tty  bool // the job has a terminal
	raw  bool // that of another user's job may do with ours what it likes
	seen int  // the last start in whose terminal we were
	line *liveLine
	pipe *watchedWriter // where the output goes
}

// attend stays with a job: it says why the job waits, prints what it prints, and ends
// as it does. Ctrl-C leaves the job alone, and once more cancels it.
func (a *app) attend(ctx context.Context, j api.Job, quiet bool) error {
	quiet = quiet || a.as.strict
	at := &attendance{a: a, job: j, line: &liveLine{t: a.err, typed: a.asTyped, quiet: quiet}}
	at.pipe = at.output()
	at.line.show(j, nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx = context.WithoutCancel(ctx) // the first signal is not the end
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	shown := at.show(ctx)
	reply, err := at.untilEnd(waiting, signals)
	if err != nil {
		shown(nil)
		return at.leave(ctx, err, signals)
	}
	shown(&reply.Job)
	a.out.W.Flush()
	if !quiet {
		at.line.note("job %s %s", nameOfJob(j), a.resultOf(reply.Job))
	}
	return statusOf([]api.Job{reply.Job})
}

// output is where what the job prints goes.
func (at *attendance) output() *watchedWriter {
	return &watchedWriter{w: at.line.over(at.a.out.W), last: time.Now()}
}

// show prints the output from here on, until what it returns is called: with the job where that has ended, when
// the last of it has come.
func (at *attendance) show(ctx context.Context) (end func(ended *api.Job)) {
	reading, stop := context.WithCancel(ctx)
	at.job = at.a.withLog(ctx, at.job)
	byLog := at.a.logServes(at.job)
	read, over := make(chan error, 1), make(chan struct{})
	go func() { read <- at.readOutput(reading, byLog, over) }()
	return func(ended *api.Job) {
		switch {
		case ended == nil:
			stop()
		case at.job.Engine != "":
			at.pipe.settle(ctx)
			stop()
		case byLog: // which is read to its end
			defer time.AfterFunc(settleMax, stop).Stop()
		default:
			close(over)
		}
		err := <-read
		stop()
		at.sayUnseen(ctx, err, ended)
	}
}

// sayUnseen says why the output is not shown, or may not be.
func (at *attendance) sayUnseen(ctx context.Context, err error, ended *api.Job) {
	if errors.Is(err, errBehind) {
		at.line.note("%s", maybeMore(at.job))
		return
	}
	begun := ended != nil && ended.Attempt > 0
	if begun && !at.pipe.some && ended.Engine == "" {
		if text := at.a.unseen(at.a.withLog(ctx, *ended)); text != "" {
			at.line.note("%s", text)
			return
		}
	}
	if err != nil && !errors.Is(err, context.Canceled) && (begun || ended == nil) {
		at.line.note("the output of job %s is not shown: %s", nameOfJob(at.job), err)
	}
}

// readOutput prints the output of every start of the job until ctx is done, or over is closed and all of it is here;
// from its log until it has ended.
func (at *attendance) readOutput(ctx context.Context, byLog bool, over <-chan struct{}) error {
	if done, err := at.a.outputElsewhere(ctx, at.job, at.pipe); done {
		return err
	}
	path, err := exec.LookPath("journalctl")
	switch {
	case byLog && err == nil:
		return at.readLog(ctx, path)
	case !byLog:
		err = cmp.Or(at.a.journalReadable(at.job), err)
	}
	if err != nil {
		return err
	}
	return at.readJournal(ctx, path, over)
}

// readJournal prints the output of every start of the job until ctx is done, or over is closed and all of it is here.
func (at *attendance) readJournal(ctx context.Context, path string, over <-chan struct{}) error {
	lines := &lineJoiner{w: at.pipe}
	starts := &ownStarts{jobs: at.a.client, job: at.job, known: map[string]bool{}}
	tail := journalTail{job: at.job, path: path, out: at.pipe, each: func(e entry) error {
		if !starts.has(ctx, e) {
			at.pipe.skip()
			return nil
		}
		return lines.write(e)
	}}
	tail.which = append([]string{"--output-fields=" + placedField + "," + invocationField}, allLines(at.job)...)
	err := at.a.tailJournal(ctx, tail, over)
	if at.a.out.TTY {
		lines.end()
	}
	if lines.byName {
		at.line.note(byNameHint)
	}
	return err
}

// interrupted is the end of a stay by a signal.
type interrupted struct{ os.Signal }

// Error names the signal.
func (i interrupted) Error() string { return i.String() }

// untilEnd waits for the job's end and says meanwhile how it is.
func (at *attendance) untilEnd(ctx context.Context, signals <-chan os.Signal) (api.JobReply, error) {
	type end struct {
		reply api.JobReply
		err   error
	}
	ended := make(chan end, 1)
	go func() {
		reply, err := api.Wait(ctx, at.a.client, at.job.ID.String(), 0)
		ended <- end{reply, err}
	}()
	for pause := firstLook; ; {
		look := time.NewTimer(pause)
		select {
		case e := <-ended:
			return e.reply, e.err
		case s := <-signals:
			return api.JobReply{}, interrupted{s}
		case <-look.C:
			pause = at.look(ctx, pause)
		}
	}
}

// look says how the job is, and when to look again.
func (at *attendance) look(ctx context.Context, last time.Duration) time.Duration {
	now, err := api.Show(ctx, at.a.client, at.job.ID.String(), api.JobQuery{})
	if err != nil {
		return waitLook // who waits for the end says what is wrong
	}
	j := now.Job
	at.line.show(j, at.a.ahead(ctx, j))
	if j.StartedAt.IsZero() {
		return min(2*last, waitLook)
	}
	return runLook
}

// leave ends the stay before the job has ended.
func (at *attendance) leave(ctx context.Context, err error, signals <-chan os.Signal) error {
	var by interrupted
	if !errors.As(err, &by) {
		at.line.note("%s", at.comeBack())
		return waitError(ctx, err)
	}
	if by.Signal != os.Interrupt {
		at.line.note("%s", at.comeBack())
		return exitStatus(statusInterrupted)
	}
	at.line.note("%s; Ctrl-C once more cancels it now", at.comeBack())
	select {
	case <-time.After(secondThought):
		return exitStatus(statusInterrupted)
	case <-signals:
	}
	reply, err := api.ActOnJob(ctx, at.a.client, api.RouteCancel, at.job.ID.String(), api.CancelRequest{})
	if err != nil {
		return waitError(ctx, err)
	}
	at.line.note("job %s %s", nameOfJob(at.job), (&cancelCmd{}).said(at.a, reply.Job))
	return exitStatus(statusInterrupted)
}

// ahead are the first jobs of the queue, where the job is in it.
func (a *app) ahead(ctx context.Context, j api.Job) []api.Job {
	if j.State != job.Queued {
		return nil
	}
	status, _ := api.Status(ctx, a.client) // that is an extra; the answer stands without it
	return status.Waiting
}
