package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// retryEvery is how often actions that failed are tried again.
const retryEvery = 5 * time.Second

// loop owns the core. It returns when ctx is done.
func (d *Daemon) loop(ctx context.Context) {
	retry := time.NewTicker(retryEvery)
	defer retry.Stop()
	deadline := time.NewTimer(time.Hour)
	defer deadline.Stop()
	watchdog := newTicker(d.opt.WatchdogEvery)
	defer watchdog.Stop()
	status := ""
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-d.messages:
			if m.ask != nil {
				m.ask(d.core, time.Now())
				continue
			}
			d.step(m.event, deadline)
		case <-deadline.C:
			d.step(core.Tick{}, deadline)
		case <-retry.C:
			d.step(core.Tick{Retry: true}, deadline)
			status = d.tell(status)
		case <-watchdog.C:
			d.opt.Notify.Alive()
		}
	}
}

// newTicker returns a ticker that never ticks for a period of 0.
func newTicker(every time.Duration) *time.Ticker {
	if every > 0 {
		return time.NewTicker(every)
	}
	t := time.NewTicker(time.Hour)
	t.Stop()
	return t
}

func (d *Daemon) step(ev core.Event, deadline *time.Timer) {
	d.commit.push(d.core.Step(ev, time.Now()))
	if next := d.core.Deadline(); !next.IsZero() {
		deadline.Reset(max(0, time.Until(next)))
	}
}

// tell keeps the line that 'systemctl status gpusched' shows up to date.
func (d *Daemon) tell(last string) string {
	counts := d.core.Counts()
	text := fmt.Sprintf("%d waiting, %d running", counts[job.Queued], counts[job.Running]+counts[job.Starting]+counts[job.Ending])
	if err := d.commit.trouble(); err != nil {
		text = "the state cannot be written, new jobs are refused: " + err.Error()
	}
	if text != last {
		d.opt.Notify.Status(text)
	}
	return text
}

// ask runs a question on the loop and returns when it is answered.
func (d *Daemon) ask(ctx context.Context, question func(*core.Core, time.Time)) error {
	answered := make(chan struct{})
	m := message{ask: func(c *core.Core, now time.Time) {
		question(c, now)
		close(answered)
	}}
	select {
	case d.messages <- m:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.done:
		return errStopped
	}
	select {
	case <-answered:
		return nil
	case <-d.done:
		return errStopped
	}
}

var errStopped = &job.Refusal{Kind: job.RefusedUnavailable, Message: "the scheduler is stopping", Hint: "try again in a moment"}
