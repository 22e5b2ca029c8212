package client

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"sync"

	"github.com/gpusched/gpusched/daemon/api"
)

// watchedOutput shows what the jobs of a watched file print.
type watchedOutput struct {
	printer *logPrinter
	all     sync.WaitGroup // one for the jobs of each look
}

// newOutput prints by buffers of its own, as jobs print while the watcher speaks.
func (a *app) newOutput() (*watchedOutput, error) {
	own := *a
	out, told := *a.out, *a.err
	out.W, told.W = bufio.NewWriter(os.Stdout), bufio.NewWriter(os.Stderr)
	own.out, own.err = &out, &told
	p := &logPrinter{logsCmd: &logsCmd{Follow: true, Attempt: lastAttempt}, app: &own, many: true}
	if a.other() != nil {
		return &watchedOutput{printer: p}, nil
	}
	var err error
	p.path, err = exec.LookPath("journalctl")
	return &watchedOutput{printer: p}, err
}

// show prints what the jobs print, until they have ended.
func (w *watchedOutput) show(ctx context.Context, jobs []api.Job) {
	w.all.Go(func() {
		follow := w.printer.follow
		if w.printer.other() != nil {
			follow = w.printer.printFiles
		}
		if err := follow(ctx, jobs); err != nil && ctx.Err() == nil {
			w.printer.say("%s", err)
		}
	})
}
