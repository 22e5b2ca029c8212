package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

const (
	inhibitTime  = 10 * time.Second // limit of one call to logind
	inhibitDelay = 2 * time.Second  // delay after the first job starts or the last one ends
	letGoAgain   = 100 * time.Millisecond
	inhibitAgain = 10 * time.Second // delay until the lock is checked again, or taken again after a failure
)

// Lock is a lock of logind that prevents some action, such as sleep.
type Lock interface {
	Held() bool // false if logind has lost the lock
	Close()
}

// Inhibit takes a lock of logind that prevents the actions in a list, such as "sleep:idle".
type Inhibit func(ctx context.Context, what string) (Lock, error)

// inhibitor has a lock of logind while jobs run, so that the machine does not sleep meanwhile.
type inhibitor struct {
	host     Runtime
	log      *slog.Logger
	take     Inhibit // nil: no lock is taken
	settings *atomic.Pointer[Settings]
	bell     Wakeup

	jobs   atomic.Bool // whether jobs run
	off    atomic.Bool // whether the machine is to reboot, so that there must be no lock
	held   atomic.Bool
	failed lastFailure

	lock Lock   // nil: none; only run uses it
	what string // the actions that the lock prevents
}

// setRunning records whether jobs run. Only the loop calls it.
func (i *inhibitor) setRunning(jobs bool) {
	if i.jobs.Swap(jobs) != jobs {
		i.bell.Ring()
	}
}

// run takes and releases the lock until ctx is done. It waits for inhibitDelay after each change,
// so that many short jobs do not cause many calls to logind.
func (i *inhibitor) run(ctx context.Context) {
	if i.take == nil {
		return
	}
	pause := i.host.Wakeup()
	for ctx.Err() == nil {
		i.update(ctx)
		var again time.Time
		if i.jobs.Load() {
			again = i.host.Now().Add(inhibitAgain)
		}
		i.bell.Wait(again, ctx.Done())
		pause.Wait(i.host.Now().Add(inhibitDelay), ctx.Done())
	}
	i.release()
}

// letGo releases the lock for a reboot, or takes it again. It waits until the lock is released, but at
// most until ctx is done.
func (i *inhibitor) letGo(ctx context.Context, yes bool) {
	i.off.Store(yes)
	i.bell.Ring()
	pause := i.host.Wakeup()
	for yes && i.held.Load() && ctx.Err() == nil {
		pause.Wait(i.host.Now().Add(letGoAgain), ctx.Done())
	}
}

// update takes or releases the lock if necessary.
func (i *inhibitor) update(ctx context.Context) {
	what := ""
	if i.jobs.Load() && !i.off.Load() {
		what = i.settings.Load().Inhibit
	}
	if i.lock != nil && i.what == what && i.lock.Held() {
		return
	}
	i.release()
	if what == "" {
		i.failed.note(nil, i.host.Now())
		return
	}
	bounded, cancel := i.host.Timeout(ctx, inhibitTime)
	defer cancel()
	lock, err := i.take(bounded, what)
	if _, was := i.failed.last(); err != nil && was == nil && ctx.Err() == nil {
		i.log.Warn("logind gives no lock: the machine may sleep while jobs run", "err", err)
	}
	i.failed.note(err, i.host.Now())
	if err == nil {
		i.lock, i.what = lock, what
		i.held.Store(true)
	}
}

func (i *inhibitor) release() {
	if i.lock != nil {
		i.lock.Close()
	}
	i.lock = nil
	i.held.Store(false)
}

// check reports whether the machine stays awake while jobs run. A machine without logind is not
// reported as broken.
func (i *inhibitor) check() job.Check {
	c := job.Check{Name: "sleep", Health: job.Healthy, Detail: "no job runs, so the machine may sleep"}
	since, err := i.failed.last()
	switch {
	case i.settings.Load().Inhibit == "":
		c.Detail = "the machine may sleep while jobs run (daemon.inhibit)"
	case err != nil:
		c.Health = job.Limited
		c.Detail = fmt.Sprintf("the machine may sleep while jobs run: since %s no lock could be taken: %v", since.Format("15:04:05"), err)
		c.Next = "see 'systemctl status systemd-logind'; a lock is tried again every " + inhibitAgain.String() + ", unless daemon.inhibit is \"none\""
	case i.held.Load():
		c.Detail = "the machine does not sleep, as jobs run ('systemd-inhibit --list' shows the lock)"
	}
	return c
}
