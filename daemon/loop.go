package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// retryEvery is the delay before failed actions are tried again.
const retryEvery = 5 * time.Second

// loop runs the core until ctx is done. Nothing else uses the core.
func (d *Daemon) loop(ctx context.Context) {
	var due dues
	due.start(d.host.Now(), d.opt.WatchdogEvery)
	status := ""
	for ctx.Err() == nil {
		m, ok := d.inbox.take()
		now := d.host.Now()
		if by := d.clock.advance(now, now.Sub(d.started)); by != 0 {
			if by.Abs() >= bigJump {
				d.log.Warn("the clock was set", "by", by)
			}
			d.step(core.Tick{Clock: by}, now)
		}
		switch {
		case ok && m.ask != nil:
			m.ask(d.core, now)
		case ok:
			if _, is := m.event.(core.Leaving); is { // two such events may arrive in reverse order
				m.event = core.Leaving{Not: !d.shutdown.begun.Load()}
			}
			d.step(m.event, now)
			if _, is := m.event.(core.Sampled); is {
				d.alerts.raise(ctx, d.core, d.settings.Load().AlertUnit, now)
			}
		}
		if ok {
			d.opt.Tally.Lag(now.Sub(m.at))
		}
		due.deadline = d.core.Deadline()
		switch {
		case isPast(due.alive, now):
			d.opt.Notify.Alive()
			due.alive = now.Add(d.opt.WatchdogEvery)
		case isPast(due.retry, now):
			due.retry = now.Add(retryEvery)
			d.step(core.Tick{Retry: true}, now)
			status = d.tell(status)
			d.alerts.raise(ctx, d.core, d.settings.Load().AlertUnit, now)
		case isPast(due.deadline, now):
			d.step(core.Tick{}, now)
		case !ok:
			d.inhibitor.setRunning(d.countActive() > 0)
			d.inbox.some.Wait(due.first(), ctx.Done())
		}
	}
	d.step(core.Closing{}, d.host.Now())
}

// dues are the times at which the loop acts even if no message arrives. A zero time means never.
type dues struct{ alive, retry, deadline time.Time }

func (u *dues) start(now time.Time, watchdog time.Duration) {
	u.retry = now.Add(retryEvery)
	if watchdog > 0 {
		u.alive = now.Add(watchdog)
	}
}

func (u *dues) first() time.Time {
	first := u.retry
	for _, t := range []time.Time{u.alive, u.deadline} {
		if !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

func isPast(due, now time.Time) bool { return !due.IsZero() && !now.Before(due) }

// step passes an event to the core. If the core asks for a GPU sample, the sampling begins at once,
// while the records are still being written. This is safe because sampling changes nothing, and it
// saves time because starts wait for the sample.
func (d *Daemon) step(ev core.Event, now time.Time) {
	passes := d.core.Passes()
	effects := d.core.Step(ev, now)
	if d.core.Passes() != passes {
		d.opt.Tally.Pass(d.host.Now().Sub(now))
	}
	if d.opt.Observe != nil {
		d.opt.Observe(ev, effects, d.core)
	}
	for _, a := range effects.Actions {
		if look, ok := a.(core.Sample); ok {
			d.sampler.ask(look.Number)
		}
	}
	look, is := ev.(core.Sampled)
	d.commit.push(effects, now, is && look.Number >= d.sampler.asked.Load())
}

// countActive returns the number of jobs that have a unit.
func (d *Daemon) countActive() int {
	counts := d.core.Counts()
	return counts[job.Running] + counts[job.Starting] + counts[job.Ending]
}

// tell updates the status line that 'systemctl status gpusched' shows.
func (d *Daemon) tell(last string) string {
	counts := d.core.Counts()
	text := fmt.Sprintf("%d waiting, %d running", counts[job.Queued], d.countActive())
	if err := d.commit.trouble(); err != nil {
		text = "the state can't be written, new jobs are refused: " + err.Error()
	}
	if text != last {
		d.opt.Notify.Status(text)
	}
	return text
}

var errStopped = job.Refuse("unavailable/stopping")
