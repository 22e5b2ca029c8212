package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// AgainFlags are --watch and --interval. They make a command repeat its screen.
type AgainFlags struct {
	Watch    bool          `name:"watch" group:"output"`
	Interval time.Duration `name:"interval" group:"output" placeholder:"TIME" type:"span"`
}

// watchInterval is the default of --interval.
const watchInterval = 2 * time.Second

// Again calls its last argument once. With --watch it repeats the call until the user ends the
// command.
func (f AgainFlags) Again(ctx context.Context, a *App, o OutputFlags, show func() error) error {
	switch {
	case a.Documents():
		return show()
	case !f.Watch && f.Interval > 0:
		return Usagef("--interval is the time between two updates of --watch: add --watch")
	case !f.Watch:
		return show()
	case !o.IsTable():
		return Usagef("--watch is for people: leave out -o %s", o.Form())
	case !a.Out.TTY:
		return Refuse(api.CodeUsage, "", "--watch needs a terminal to draw on")
	}
	if f.Interval == 0 {
		f.Interval = watchInterval
	}
	return a.watch(ctx, f.Interval, show)
}

// watch repeatedly calls a function and draws its output, until ctx is done. Then it restores the
// terminal.
func (a *App) watch(ctx context.Context, every time.Duration, show func() error) error {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	tick := time.NewTicker(every)
	defer tick.Stop()
	w := repeater{screen: term.NewScreen(a.Out.W), every: every}
	defer w.screen.Close()
	for ctx.Err() == nil { // select may have chosen a tick although ctx was done
		if err := w.refresh(ctx, a, show); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-resized:
		case <-tick.C:
		}
	}
	return nil
}

// repeater is the state of a screen that is drawn repeatedly.
type repeater struct {
	screen    *term.Screen
	every     time.Duration
	last      string // what was drawn last
	downSince time.Time
}

// refresh draws the screen once. If the scheduler does not answer, it draws the last screen again
// under a line that says so.
func (w *repeater) refresh(ctx context.Context, a *App, show func() error) error {
	a.Out.Measure()
	a.Out.Now = time.Now()
	a.Err.Now = a.Out.Now
	text, err := a.capture(show)
	var e *api.Error
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil:
		w.last, w.downSince = text, time.Time{}
	case errors.As(err, &e) && (e.Code == api.CodeUnreachable || e.Code == api.CodeUnavailable):
		if w.downSince.IsZero() {
			w.downSince = a.Out.Now
		}
	default:
		return err
	}
	w.screen.Draw(w.title(a)+"\n"+w.last, a.Out.Width, a.Out.Height)
	return nil
}

// title returns the first line of the screen.
func (w *repeater) title(a *App) string {
	if w.downSince.IsZero() {
		return a.Out.Paint(term.Dim, a.Out.Now.Format(time.TimeOnly)+", every "+term.Age(w.every)+", Ctrl-C ends it")
	}
	return a.Out.Paint(term.Red, "the scheduler has not answered since "+w.downSince.Format(time.TimeOnly)+"; it is asked again every "+term.Age(w.every))
}

// capture calls a function and returns its output, including stderr, which would otherwise spoil
// the screen.
func (a *App) capture(show func() error) (string, error) {
	var text bytes.Buffer
	out, err := a.Out.W, a.Err.W
	a.Out.W = bufio.NewWriter(&text)
	a.Err.W = a.Out.W
	defer func() { a.Out.W, a.Err.W = out, err }()
	problem := show()
	_ = a.Out.W.Flush() // writes into memory
	return text.String(), problem
}
