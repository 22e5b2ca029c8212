package feed

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"sync"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/logs"
	"github.com/gpusched/gpusched/daemon/api"
)

// watchedOutput prints the output of the jobs of a watched file.
type watchedOutput struct {
	printer *logs.Printer
	all     sync.WaitGroup // counts one for each group of new jobs
}

// newOutput returns a watchedOutput with its own buffers. The jobs' output and the watcher's
// messages are printed at the same time.
func newOutput(a *cli.App) (*watchedOutput, error) {
	own := *a
	out, told := *a.Out, *a.Err
	out.W, told.W = bufio.NewWriter(os.Stdout), bufio.NewWriter(os.Stderr)
	own.Out, own.Err = &out, &told
	p := &logs.Printer{Cmd: &logs.Cmd{Follow: true, Attempt: logs.LastAttempt}, App: &own, Many: true}
	if a.Other() != nil {
		return &watchedOutput{printer: p}, nil
	}
	var err error
	p.Path, err = exec.LookPath("journalctl")
	return &watchedOutput{printer: p}, err
}

// printOutput prints the output of jobs until they have ended.
func (w *watchedOutput) printOutput(ctx context.Context, jobs []api.Job) {
	w.all.Go(func() {
		follow := w.printer.FollowJobs
		if w.printer.Other() != nil {
			follow = w.printer.PrintFiles
		}
		if err := follow(ctx, jobs); err != nil && ctx.Err() == nil {
			w.printer.Say("%s", err)
		}
	})
}
