package daemon

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// The delays and the time limit of the listings of all units. The daemon may miss signals about
// units; a listing shows the true state of all units.
const (
	listEvery = time.Minute
	listAgain = time.Second // delay after a failed listing
	listTime  = 30 * time.Second
)

// unitReconciler tells the core the state of all of systemd's units: at the daemon's start, after
// the bus broke or systemd reloaded, and every minute.
type unitReconciler struct {
	d      *Daemon
	asked  atomic.Bool
	bell   Wakeup
	listed *latch // opened by the first listing

	swept   bool            // true after sweepKept has run
	strange map[job.ID]bool // jobs about whose units a warning was logged
}

func newUnitReconciler(d *Daemon) *unitReconciler {
	return &unitReconciler{d: d, bell: d.host.Wakeup(), listed: newLatch(d.host), strange: map[job.ID]bool{}}
}

func (l *unitReconciler) wake() {
	l.asked.Store(true)
	l.bell.Ring()
}

func (l *unitReconciler) run(ctx context.Context) {
	failing := false
	for ctx.Err() == nil {
		l.asked.Store(false)
		wait := listEvery
		err := l.list(ctx)
		if err != nil {
			wait = listAgain
			if !failing && ctx.Err() == nil {
				l.d.log.Error("listing the units, will try again until it works", "err", err)
			}
		}
		failing = err != nil
		for until := l.d.host.Now().Add(wait); ctx.Err() == nil && !l.asked.Load() && !isPast(until, l.d.host.Now()); {
			l.bell.Wait(until, ctx.Done())
		}
	}
}

func (l *unitReconciler) list(ctx context.Context) error {
	boot, err := l.d.opt.Boot()
	if err != nil {
		return err
	}
	ctx, cancel := l.d.host.Timeout(ctx, listTime)
	defer cancel()
	all, err := l.d.opt.Units.List(ctx)
	if err != nil {
		return err
	}
	read := l.d.host.Now()
	ev := core.Listed{Boot: boot, Run: boot}
	if l.d.opt.System != nil {
		system, err := l.d.opt.System(ctx)
		if err != nil {
			return err
		}
		if l.d.shutdown.note(system.Stopping); system.Stopping {
			return nil
		}
		ev.Run = boot + "." + system.Run
	}
	for _, st := range all {
		if u := unitOf(st); u.Job != 0 {
			ev.Units = append(ev.Units, u)
		}
	}
	if ev.Recovered, ev.Taken, err = l.recover(ctx, ev.Run, all); err != nil {
		return err
	}
	l.sweepKept(all)
	for i := range ev.Units {
		ev.Units[i].Old = l.d.host.Now().Sub(read)
	}
	l.d.shutdown.poll(ctx) // before the first listing, after which jobs start
	l.d.inbox.post(ev)
	l.listed.release()
	return nil
}
