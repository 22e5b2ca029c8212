package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/directory"
	"github.com/gpusched/gpusched/daemon/host"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/journal"
	"github.com/gpusched/gpusched/daemon/metrics"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/store"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/retry"
	"github.com/gpusched/gpusched/units/systemd"
)

// The time between tries to start the scheduler. The next one after it worked
// for a while comes at once.
const (
	firstTry    = time.Second
	lastTry     = 10 * time.Second
	stableAfter = time.Minute
)

// Options are what a Supervisor is made of.
type Options struct {
	Config, DropIns string // the settings: the main file, and a directory of more
	State           string // the directory of the state file
	Cache           string // the directory of the last ids beside that; "": none
	Specs           string // the directory of the launchers' private instructions
	Launcher, NVML  string // the programs that each unit executes, and that reads the GPUs
	Accounts        string // the socket of what knows accounts of a directory
	Own             *Own   // nil: it is the scheduler of the machine
	Environ         []string
	Version, Commit string
	Log             *slog.Logger
	Level           *slog.LevelVar
	Journal         *journal.Queue // behind Log
}

// Supervisor is what lives as long as the process: the server, the log and the
// settings. The scheduler behind it is an instance, which may fail and begin anew;
// the server tells meanwhile why there is none.
type Supervisor struct {
	opt     Options
	log     *slog.Logger
	notify  *systemd.Notifier
	front   *front
	names   *directory.Directory
	person  func(uid int) (person int, certain bool) // whose the uids of containers are
	server  *server.Server
	state   *stateFile
	crashes crashes // of earlier processes
	told    string  // the last reason why there is no scheduler that was logged
	asked   bool    // a reload was asked for while there is none; the next try answers
	tally   *metrics.Tally
	verbose *server.Verbosity

	cfg  atomic.Pointer[config.Config]   // the settings in force
	read atomic.Pointer[config.Snapshot] // the files that they are from
}

// New makes one that Run starts.
func New(o Options) *Supervisor {
	began := time.Now()
	s := &Supervisor{
		opt: o, log: o.Log, notify: systemd.NewNotifier(), front: &front{changed: make(chan struct{})},
		names: directory.New(o.Own.files(), directory.Socket(o.Accounts)),
		state: &stateFile{path: filepath.Join(o.State, "state.db"), lastIDs: o.Cache, log: o.Log}, tally: metrics.NewTally(),
		verbose: server.NewVerbosity(o.Level),
	}
	s.use(config.Default(), config.Snapshot{})
	s.person = host.NewSubordinates("/etc/subuid", s.names.KnownID, s.names.Named).Person
	s.names.Persons(s.person)
	s.server = server.New(server.Options{
		Backend: s.front.get, Log: o.Log, Version: o.Version, Commit: o.Commit,
		Config: s.cfg.Load, UserName: s.names.UserName, KnownName: s.names.KnownName, UserID: s.names.UserID,
		GroupID: s.names.GroupID, Member: s.names.Member, Holds: s.names.Holds,
		Printed: journal.NewSyncer().Sync,
		Person:  s.person, HasMail: host.HasMail, Own: o.Own.account(), Unlimited: o.Own.unlimited,
		Verbosity: s.verbose,
		Process:   func() metrics.Process { return host.Self("/proc/self", began) },
	})
	s.state.extend = s.notify.Extend
	return s
}

// hostFiles are what /etc/passwd and /etc/group say.
var hostFiles = directory.Files{
	UserName: host.UserName, UserID: host.UserID, GroupID: host.GroupID, HasGroup: host.HasGroup, Member: host.Member,
}

// use puts settings into force, as far as they are not the scheduler's. Groups that
// they name are looked up before anybody asks.
func (s *Supervisor) use(cfg config.Config, from config.Snapshot) {
	for _, name := range append(cfg.QuotaGroups(), cfg.Daemon.AdminGroup) {
		s.names.KnownGroup(name)
	}
	s.cfg.Store(&cfg)
	s.verbose.Follow(cfg.Daemon.LogLevel)
	s.read.Store(&from)
}

// Run serves until ctx is done: first the clients are let go, then the
// scheduler stops. Running jobs are not touched. SIGHUP reloads.
func (s *Supervisor) Run(ctx context.Context, listeners ...net.Listener) error {
	var err error
	if s.crashes, err = watchCrashes(filepath.Dir(s.opt.Specs), time.Now()); err != nil {
		s.log.Warn("crashes of this daemon are not noted", "err", err)
	}
	again, ended := began(filepath.Dir(s.opt.Specs), time.Now())
	defer ended()
	if err := s.refuse(filepath.Dir(s.opt.Specs), time.Now()); err != nil {
		return err
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	var parts sync.WaitGroup
	serving, stopServing := context.WithCancel(ctx)
	defer stopServing()
	var gaveUp error
	parts.Go(func() {
		if again {
			s.resume(work, hup, soonPause)
		}
		gaveUp = s.schedule(work, hup)
		stopServing()
	})
	err = s.server.Serve(serving, listeners...)
	stopWork()
	parts.Wait()
	return errors.Join(err, gaveUp)
}

// schedule keeps the scheduler running until ctx is done. While it can't be started,
// the process stays, so that everybody who asks is told why, and tries again; a
// reload has it try at once. Only where the disk was read-only it gives up, after
// a while and with the reason: the process has mounts of its own, in which the
// disk stays as read-only as it was when the process began.
func (s *Supervisor) schedule(ctx context.Context, hup <-chan os.Signal) error {
	var works atomic.Bool // then the scheduler's own loop feeds the watchdog
	var parts sync.WaitGroup
	defer parts.Wait()
	feeding, stopFeeding := context.WithCancel(ctx)
	defer stopFeeding()
	parts.Go(func() { s.feed(feeding, &works) })
	failures := 0
	if pause := s.crashes.pause(time.Now()); pause > 0 {
		s.fail(errCrashing, pause)
		s.resume(ctx, hup, pause)
	}
	for ctx.Err() == nil {
		worked, err := s.try(ctx, hup, &works)
		if ctx.Err() != nil {
			return nil
		}
		if failures++; worked > stableAfter {
			failures, s.told = 0, ""
		}
		wait := retry.After(failures, firstTry, lastTry)
		readOnly := errors.Is(err, syscall.EROFS)
		if readOnly {
			wait = lastTry
		}
		s.fail(err, wait)
		s.answer(err)
		s.resume(ctx, hup, wait)
		if readOnly && ctx.Err() == nil {
			return fmt.Errorf("beginning anew, to see whether the disk can be written: %w", err)
		}
	}
	return nil
}

// try starts the scheduler, and returns how long it worked and why it does no more.
func (s *Supervisor) try(ctx context.Context, hup <-chan os.Signal, works *atomic.Bool) (time.Duration, error) {
	one, err := newInstance(ctx, s)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	works.Store(true)
	s.front.put(one.daemon)
	s.answer(nil)
	err = one.run(ctx, hup)
	s.front.put(nil)
	works.Store(false)
	one.close()
	if errors.Is(err, job.ErrDamaged) {
		s.state.suspect(err)
	}
	return time.Since(began), err
}

// resume waits for the time of the next try, which a reload brings on and which answers that.
func (s *Supervisor) resume(ctx context.Context, hup <-chan os.Signal, wait time.Duration) {
	select {
	case <-ctx.Done():
	case <-hup:
		s.notify.Reloading()
		s.asked = true
	case <-time.After(wait):
	}
}

// answer says what became of a reload that was asked for, after the try that read the settings.
func (s *Supervisor) answer(err error) {
	if !s.asked {
		return
	}
	s.asked = false
	outcome := server.Done
	if errors.As(err, new(settingsError)) {
		outcome = server.Failed
	}
	s.auditReload(outcome)
	s.notify.Ready()
}

// feed keeps the watchdog quiet while there is no scheduler that could hang.
func (s *Supervisor) feed(ctx context.Context, works *atomic.Bool) {
	every := s.notify.WatchdogInterval() / 3
	if every <= 0 {
		return
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if !works.Load() {
			s.notify.Alive()
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
		s.log.Error("the scheduler can't work: jobs that run go on, nothing new is accepted or started, trying again",
			"err", err)
		s.told = text
	}
	if wait == 0 {
		return // tried again at once
	}
	s.notify.ReadyBut("can't work, trying again: " + err.Error())
	scheduler := job.Check{
		Name: job.SchedulerPart, Health: job.Failing, Next: s.remedy(err, filepath.Dir(s.state.path)),
		Unread: errors.As(err, new(settingsError)),
		Detail: fmt.Sprintf("it can't work, jobs that run go on (last tried at %s, tries again every %s): %s",
			time.Now().Format("15:04:05"), lastTry, strings.ReplaceAll(err.Error(), "\n", "; ")),
	}
	s.front.put(unavailable{
		err: job.Refuse("unavailable/broken", err),
		checks: func(context.Context) []job.Check {
			now := time.Now()
			return []job.Check{
				scheduler, s.crashes.check(now), s.state.check(), host.CheckSpace(s.opt.State), host.CheckJournal(),
				s.checkLog(), s.opt.Own.checkLimits(),
			}
		},
	})
}

// settingsError is that of settings that can't be used.
type settingsError struct{ error }

// refusedAfter is within what time systemd has started the process that follows one which refused its settings, also
// where a driver that hangs holds up gpusched-devices.service, which comes before.
const refusedAfter = 2 * time.Minute

// refuse returns what is wrong with the settings where this is the first process to meet it and systemd started it.
// Then it ends, and the start fails before the eyes of whoever asked for it. systemd starts the next process by
// itself, which finds the note in a directory that a restart leaves, stays, and tells everybody who asks.
func (s *Supervisor) refuse(dir string, now time.Time) error {
	note := filepath.Join(dir, "refused")
	before, beforeErr := os.Stat(note)
	_ = os.Remove(note) // the next restart by hand is refused again
	managed := slices.ContainsFunc(s.opt.Environ, func(kv string) bool { return strings.HasPrefix(kv, "NOTIFY_SOCKET=") })
	if !managed || beforeErr == nil && now.Sub(before.ModTime()).Abs() < refusedAfter {
		return nil
	}
	_, _, err := s.load()
	if err == nil || os.WriteFile(note, nil, 0o600) != nil { // without a note it would be refused for ever
		return nil
	}
	s.notify.Status("the settings can't be used: " + err.Error())
	return settingsError{fmt.Errorf("%w; %s", err, s.remedy(settingsError{err}, ""))}
}

// remedy says what to do about a scheduler that can't be started.
func (s *Supervisor) remedy(err error, state string) string {
	own := s.opt.Own
	flag := own.flag()
	var settings settingsError
	switch {
	case errors.As(err, &settings):
		return "correct the settings " + own.thenReload()
	case errors.Is(err, errCrashing):
		return "report it, with crash.last in " + own.runDir() + "; 'systemctl" + flag + " reload gpusched' has it begin at once"
	case errors.Is(err, store.ErrNewer):
		return "install the newer release again, or put back the copy that it made: see A DAMAGED STATE FILE in gpusched-admin(7)"
	case errors.Is(err, store.ErrLocked):
		return "end the other gpuschedd, see 'systemctl" + flag + " status gpusched' and 'pgrep -a gpuschedd'"
	case errors.Is(err, errDamagedAgain):
		return "check the disk of " + state + " (journalctl -k, smartctl); the daemon begins an empty file again in an hour"
	case errors.Is(err, job.ErrDamaged):
		return "nothing: the daemon begins a new file by itself"
	case errors.Is(err, job.ErrInvalid):
		return "report it with 'journalctl" + flag + " -u gpusched': the daemon begins anew by itself, from the last that it could write"
	case errors.Is(err, units.ErrBus) && own != nil:
		return "systemctl --user status"
	case errors.Is(err, units.ErrBus):
		return "systemctl status dbus"
	case store.Retryable(err):
		return "free space on the disk of " + state + ", or repair it"
	}
	return "see 'journalctl" + flag + " -u gpusched' and that " + state + " can be written"
}
