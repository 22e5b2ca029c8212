package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon"
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

// Session is one scheduler with its parts, from its start until it can't go on.
type Session interface {
	Backend() server.Backend
	// Run works until ctx is done, which is not an error.
	Run(ctx context.Context, hup <-chan os.Signal) error
	Close()
}

// Notifier tells systemd how the daemon is.
type Notifier interface {
	WatchdogInterval() time.Duration
	Alive()
	Ready()
	Status(text string)
}

// Supervisor keeps a scheduler running.
type Supervisor struct {
	Open     func(ctx context.Context) (Session, error)
	Front    *Front // what clients ask
	State    *StateFile
	Crashes  Crashes // of earlier processes
	Notify   Notifier
	Reloaded func()             // notes a reload while there is no scheduler
	Checks   func() []job.Check // the lines of health that need no scheduler
	Log      *slog.Logger

	told string // the reason that the journal has
}

// Run keeps the scheduler running until ctx is done. While it can't be started,
// the process stays, so that everybody who asks is told why, and tries again; a
// reload has it try at once. Only where the disk was read-only it gives up, after
// a while and with the reason: the process has mounts of its own, in which the
// disk stays as read-only as it was when the process began.
func (s *Supervisor) Run(ctx context.Context, hup <-chan os.Signal) error {
	var works atomic.Bool // then the scheduler's own loop feeds the watchdog
	var parts sync.WaitGroup
	defer parts.Wait()
	feeding, stopFeeding := context.WithCancel(ctx)
	defer stopFeeding()
	parts.Go(func() { s.feed(feeding, &works) })
	wait := firstTry
	if pause := s.Crashes.pause(time.Now()); pause > 0 {
		s.fail(errCrashing, pause)
		s.resume(ctx, hup, pause)
	}
	for ctx.Err() == nil {
		worked, err := s.session(ctx, hup, &works)
		if ctx.Err() != nil {
			return nil
		}
		if worked > aWhile {
			wait, s.told = 0, ""
		}
		readOnly := errors.Is(err, syscall.EROFS)
		if readOnly {
			wait = lastTry
		}
		s.fail(err, wait)
		s.resume(ctx, hup, wait)
		if readOnly && ctx.Err() == nil {
			return fmt.Errorf("beginning anew, to see whether the disk can be written: %w", err)
		}
		wait = min(max(2*wait, firstTry), lastTry)
	}
	return nil
}

// session is one try: how long the scheduler worked, and why it does no more.
func (s *Supervisor) session(ctx context.Context, hup <-chan os.Signal, works *atomic.Bool) (time.Duration, error) {
	one, err := s.Open(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	works.Store(true)
	s.Front.put(one.Backend())
	err = one.Run(ctx, hup)
	s.Front.put(nil)
	works.Store(false)
	one.Close()
	if errors.Is(err, daemon.ErrDamaged) {
		s.State.doubt(err)
	}
	return time.Since(began), err
}

// resume waits for the time of the next try, which a reload brings on.
func (s *Supervisor) resume(ctx context.Context, hup <-chan os.Signal, wait time.Duration) {
	select {
	case <-ctx.Done():
	case <-hup:
		s.Reloaded()
	case <-time.After(wait):
	}
}

// feed keeps the watchdog quiet while there is no scheduler that could hang.
func (s *Supervisor) feed(ctx context.Context, works *atomic.Bool) {
	every := s.Notify.WatchdogInterval() / 3
	if every <= 0 {
		return
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if !works.Load() {
			s.Notify.Alive()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// fail tells everybody why there is no scheduler: the journal once per reason.
func (s *Supervisor) fail(err error, wait time.Duration) {
	if text := err.Error(); text != s.told {
		s.Log.Error("the scheduler can't work: jobs that run go on, nothing new is accepted or started, trying again",
			"err", err)
		s.told = text
	}
	if wait == 0 {
		return // tried again at once
	}
	s.Notify.Status("can't work, trying again: " + err.Error())
	s.Notify.Ready() // it answers
	scheduler := job.Check{
		Name: "scheduler", Health: job.Failing, Next: remedy(err, filepath.Dir(s.State.Path)),
		Detail: fmt.Sprintf("it can't work, jobs that run go on (last tried at %s, tries again every %s): %s",
			time.Now().Format("15:04:05"), lastTry, strings.ReplaceAll(err.Error(), "\n", "; ")),
	}
	s.Front.put(absent{
		err: &job.Refusal{
			Kind: job.RefusedUnavailable, Message: "the scheduler can't work: " + err.Error(),
			Hint: "running jobs are not affected, and it tries again by itself; see 'gpusched health'",
		},
		checks: func(context.Context) []job.Check {
			return append([]job.Check{scheduler, s.Crashes.Check(time.Now()), s.State.Check()}, s.Checks()...)
		},
	})
}

// SettingsError is that of an Open whose settings can't be used.
type SettingsError struct{ Err error }

func (e *SettingsError) Error() string { return e.Err.Error() }
func (e *SettingsError) Unwrap() error { return e.Err }

// remedy says what to do about a scheduler that can't be started.
func remedy(err error, state string) string {
	var settings *SettingsError
	switch {
	case errors.As(err, &settings):
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
