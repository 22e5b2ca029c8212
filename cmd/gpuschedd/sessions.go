package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/host"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/store"
	"github.com/gpusched/gpusched/units"
)

// The time between tries to start the scheduler. The next one after it worked
// for a while comes at once.
const (
	firstTry = time.Second
	lastTry  = 10 * time.Second
	aWhile   = time.Minute
)

// sessions keeps the scheduler running until ctx is done. While it can't be
// started, the process stays, so that everybody who asks is told why, and tries
// again; a reload has it try at once. Only where the disk was read-only it gives
// up, after a while and with the reason: the process has mounts of its own, in
// which the disk stays as read-only as it was when the process began.
func (a *assembly) sessions(ctx context.Context, hup <-chan os.Signal) error {
	var works atomic.Bool // then the scheduler's own loop feeds the watchdog
	var parts sync.WaitGroup
	defer parts.Wait()
	feeding, stopFeeding := context.WithCancel(ctx)
	defer stopFeeding()
	parts.Go(func() { a.feed(feeding, &works) })
	wait, told := firstTry, ""
	if pause := a.crashes.pause(time.Now()); pause > 0 {
		a.fail(errCrashing, &told, pause)
		a.resume(ctx, hup, pause)
	}
	for ctx.Err() == nil {
		s, err := newSession(ctx, a)
		if err == nil {
			began := time.Now()
			works.Store(true)
			a.front.put(s.daemon)
			err = s.run(ctx, hup)
			a.front.put(nil)
			works.Store(false)
			s.close()
			if errors.Is(err, daemon.ErrDamaged) {
				a.doubt(err)
			}
			if time.Since(began) > aWhile {
				wait, told = 0, ""
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		readOnly := errors.Is(err, syscall.EROFS)
		if readOnly {
			wait = lastTry
		}
		a.fail(err, &told, wait)
		a.resume(ctx, hup, wait)
		if readOnly && ctx.Err() == nil {
			return fmt.Errorf("beginning anew, to see whether the disk can be written: %w", err)
		}
		wait = min(max(2*wait, firstTry), lastTry)
	}
	return nil
}

// resume waits for the time of the next try, which a reload brings on.
func (a *assembly) resume(ctx context.Context, hup <-chan os.Signal, wait time.Duration) {
	select {
	case <-ctx.Done():
	case <-hup:
		a.auditReload(server.Done)
	case <-time.After(wait):
	}
}

// feed keeps the watchdog quiet while there is no scheduler that could hang.
func (a *assembly) feed(ctx context.Context, works *atomic.Bool) {
	every := a.notify.WatchdogInterval() / 3
	if every <= 0 {
		return
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if !works.Load() {
			a.notify.Alive()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// fail tells everybody why there is no scheduler: the journal once per reason.
func (a *assembly) fail(err error, told *string, wait time.Duration) {
	if text := err.Error(); text != *told {
		a.log.Error("the scheduler can't work: jobs that run go on, nothing new is accepted or started, trying again", "err", err)
		*told = text
	}
	if wait == 0 {
		return // tried again at once
	}
	a.notify.Status("can't work, trying again: " + err.Error())
	a.notify.Ready() // it answers
	since := time.Now()
	a.front.put(absent{
		err: &job.Refusal{
			Kind: job.RefusedUnavailable, Message: "the scheduler can't work: " + err.Error(),
			Hint: "running jobs are not affected, and it tries again by itself; see 'gpusched health'",
		},
		checks: func(context.Context) []job.Check {
			return []job.Check{
				{
					Name: "scheduler", Health: job.Failing, Next: remedy(err, a.paths.state),
					Detail: fmt.Sprintf("it can't work, jobs that run go on (last tried at %s, tries again every %s): %s", since.Format("15:04:05"), lastTry, strings.ReplaceAll(err.Error(), "\n", "; ")),
				},
				a.crashes.check(time.Now()), checkStateFile(a.paths.stateFile()), host.CheckSpace(a.paths.state), host.CheckJournal(), host.CheckLog(a.journal.Stuck(time.Now())), host.CheckLimits(),
			}
		},
	})
}

// configError is a configuration that can't be used.
type configError struct{ error }

func (e *configError) Unwrap() error { return e.error }

// remedy says what to do about a scheduler that can't be started.
func remedy(err error, state string) string {
	var cfg *configError
	switch {
	case errors.As(err, &cfg):
		return "mend the settings ('gpusched config check' shows every mistake), then 'systemctl reload gpusched'"
	case errors.Is(err, errCrashing):
		return "report it, with crash.last in /run/gpusched (which root can read); 'systemctl reload gpusched' has it begin at once"
	case errors.Is(err, store.ErrNewer):
		return "install the newer release again, or put back the copy that it made: see A DAMAGED STATE FILE in gpuschedd(8)"
	case errors.Is(err, store.ErrLocked):
		return "end the other gpuschedd, see 'systemctl status gpusched' and 'pgrep -a gpuschedd'"
	case errors.Is(err, errDamagedAgain):
		return "check the disk of " + state + " (journalctl -k, smartctl); the daemon begins an empty file again in an hour"
	case errors.Is(err, daemon.ErrDamaged), errors.Is(err, store.ErrCorrupt):
		return "nothing: the daemon begins a new file by itself"
	case errors.Is(err, daemon.ErrInvalid):
		return "report it with 'journalctl -u gpusched': the daemon begins anew by itself, from the last that it could write"
	case errors.Is(err, units.ErrBus):
		return "systemctl status dbus"
	case store.Retryable(err):
		return "free space on the disk of " + state + ", or repair it"
	}
	return "see 'journalctl -u gpusched' and that " + state + " can be written"
}
