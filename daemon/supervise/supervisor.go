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

// Delays between two tries to start the scheduler. Once the scheduler has worked for stableAfter,
// the next delay is firstTry again.
const (
	firstTry    = time.Second
	lastTry     = 10 * time.Second
	stableAfter = time.Minute
)

// Options configure a Supervisor.
type Options struct {
	Config, DropIns string // the main settings file, and a directory of further ones
	State           string // directory of the state file
	Cache           string // directory of the second copy of the last ids; "": none
	Specs           string // directory of the launchers' private specs
	Launcher, NVML  string // programs: Launcher is the first in each unit, NVML reads the GPUs
	Accounts        string // socket of gpusched-accounts
	Own             *Own   // nil: the machine's scheduler
	Environ         []string
	Version, Commit string
	Log             *slog.Logger
	Level           *slog.LevelVar
	Journal         *journal.Queue // sends the lines of Log
}

// Supervisor has all parts that last as long as the process: the server, the log and the settings.
// A scheduler may fail, and another one is then started. While no scheduler runs, the server
// answers with the reason.
type Supervisor struct {
	opt     Options
	log     *slog.Logger
	notify  *systemd.Notifier
	front   *front
	names   *directory.Directory
	person  func(uid int) (person int, certain bool) // maps the uids of containers to people
	server  *server.Server
	state   *stateFile
	crashes crashes // crashes of earlier processes
	told    string  // last logged reason why there is no scheduler
	asked   bool    // the next try must answer a reload that was requested
	tally   *metrics.Tally
	verbose *server.Verbosity

	cfg  atomic.Pointer[config.Config]   // settings in force
	read atomic.Pointer[config.Snapshot] // files from which cfg was read
}

// New returns a supervisor. Run starts it.
func New(o Options) *Supervisor {
	began := time.Now()
	s := &Supervisor{
		opt: o, log: o.Log, notify: systemd.NewNotifier(), front: &front{changed: make(chan struct{})},
		names: directory.New(o.Own.files(), directory.Socket(o.Accounts)),
		state: &stateFile{path: filepath.Join(o.State, "state.db"), lastIDs: o.Cache, log: o.Log}, tally: metrics.NewTally(),
		verbose: server.NewVerbosity(o.Level),
	}
	s.applySettings(config.Default(), config.Snapshot{})
	s.person = host.NewSubordinates("/etc/subuid", s.names.KnownID, s.names.Named).Person
	s.names.Persons(s.person)
	s.server = server.New(server.Options{
		Backend: s.front.get, Log: o.Log, Version: o.Version, Commit: o.Commit,
		Config: s.cfg.Load, UserName: s.names.UserName, KnownName: s.names.KnownName, UserID: s.names.UserID,
		GroupID: s.names.GroupID, Member: s.names.Member, Holds: s.names.Holds,
		Printed: journal.NewSyncer().Sync,
		Person:  s.person, HasMail: host.HasMail, Own: o.Own.account(), Unlimited: o.Own.missingControllers,
		Verbosity: s.verbose,
		Process:   func() metrics.Process { return host.Self("/proc/self", began) },
	})
	s.state.extend = s.notify.Extend
	return s
}

// hostFiles are /etc/passwd and /etc/group.
var hostFiles = directory.Files{
	UserName: host.UserName, UserID: host.UserID, GroupID: host.GroupID, HasGroup: host.HasGroup, Member: host.Member,
}

// applySettings applies the settings of everything except the scheduler. It looks up the groups in
// these settings at once, so that no request has to wait for that.
func (s *Supervisor) applySettings(cfg config.Config, from config.Snapshot) {
	for _, name := range append(cfg.QuotaGroups(), cfg.Daemon.AdminGroup) {
		s.names.KnownGroup(name)
	}
	s.cfg.Store(&cfg)
	s.verbose.Follow(cfg.Daemon.LogLevel)
	s.read.Store(&from)
}

// Run serves until ctx is done. It then disconnects the clients, and after that stops the
// scheduler. Running jobs continue. SIGHUP reloads the settings.
func (s *Supervisor) Run(ctx context.Context, listeners ...net.Listener) error {
	var err error
	if s.crashes, err = watchCrashes(filepath.Dir(s.opt.Specs), time.Now()); err != nil {
		s.log.Warn("crashes of this daemon can't be recorded", "err", err)
	}
	again, ended := markStart(filepath.Dir(s.opt.Specs), time.Now())
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

// schedule keeps the scheduler running until ctx is done. If the scheduler can't start, the process
// keeps running, answers requests with the reason, and tries again. A reload causes a try at once.
// The process ends by itself only after its disk was read-only for some time. Each process has its
// own mounts, so the disk stays read-only for this process, but perhaps not for the next.
func (s *Supervisor) schedule(ctx context.Context, hup <-chan os.Signal) error {
	var works atomic.Bool // true: the scheduler's own loop notifies the watchdog
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
		s.report(err)
		s.resume(ctx, hup, wait)
		if readOnly && ctx.Err() == nil {
			return fmt.Errorf("starting a new process, to see whether the disk can be written: %w", err)
		}
	}
	return nil
}

// try runs the scheduler until it ends. It returns how long the scheduler worked, and why it ended.
func (s *Supervisor) try(ctx context.Context, hup <-chan os.Signal, works *atomic.Bool) (time.Duration, error) {
	one, err := newInstance(ctx, s)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	works.Store(true)
	s.front.put(one.daemon)
	s.report(nil)
	err = one.run(ctx, hup)
	s.front.put(nil)
	works.Store(false)
	one.close()
	if errors.Is(err, job.ErrDamaged) {
		s.state.suspect(err)
	}
	return time.Since(began), err
}

// resume waits until it is time for the next try, or until a reload is requested. The next try then
// answers that request.
func (s *Supervisor) resume(ctx context.Context, hup <-chan os.Signal, wait time.Duration) {
	select {
	case <-ctx.Done():
	case <-hup:
		s.notify.Reloading()
		s.asked = true
	case <-time.After(wait):
	}
}

// report reports the outcome of a requested reload after the settings were read.
func (s *Supervisor) report(err error) {
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

// feed notifies the watchdog while there is no scheduler.
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

// fail reports why there is no scheduler. The journal gets each reason once.
func (s *Supervisor) fail(err error, wait time.Duration) {
	if text := err.Error(); text != s.told {
		s.log.Error("the scheduler can't work and will try again: running jobs go on, and no job is accepted or started",
			"err", err)
		s.told = text
	}
	if wait == 0 {
		return // the next try comes at once
	}
	s.notify.ReadyBut("can't work, trying again: " + err.Error())
	scheduler := job.Check{
		Name: job.SchedulerPart, Health: job.Failing, Next: s.remedy(err, filepath.Dir(s.state.path)),
		Unread: errors.As(err, new(settingsError)),
		Detail: fmt.Sprintf("it can't work; running jobs go on (last tried at %s, tries again every %s): %s",
			time.Now().Format("15:04:05"), lastTry, strings.ReplaceAll(err.Error(), "\n", "; ")),
	}
	s.front.put(unavailableBackend{
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

// settingsError says that the settings can't be used.
type settingsError struct{ error }

// refusedAfter is the longest time between a process that refused its settings and the next
// process, if systemd starts the next process by itself. In between, gpusched-devices.service runs,
// which a hanging driver may delay.
const refusedAfter = 2 * time.Minute

// refuse returns an error if the settings are wrong, systemd started this process, and no earlier
// process refused them within refusedAfter. The process then ends, so that whoever asked for the
// start sees it fail. Systemd starts another process by itself. That process finds a note in the
// directory dir, which survives restarts. So it does not end, and answers requests with the reason.
func (s *Supervisor) refuse(dir string, now time.Time) error {
	note := filepath.Join(dir, "refused")
	before, beforeErr := os.Stat(note)
	_ = os.Remove(note) // so that the next manual restart is refused again
	managed := slices.ContainsFunc(s.opt.Environ, func(kv string) bool { return strings.HasPrefix(kv, "NOTIFY_SOCKET=") })
	if !managed || beforeErr == nil && now.Sub(before.ModTime()).Abs() < refusedAfter {
		return nil
	}
	_, _, err := s.load()
	if err == nil || os.WriteFile(note, nil, 0o600) != nil { // without the note, every start would be refused
		return nil
	}
	s.notify.Status("the settings can't be used: " + err.Error())
	return settingsError{fmt.Errorf("%w; %s", err, s.remedy(settingsError{err}, ""))}
}

// remedy returns advice to an administrator after the scheduler could not start.
func (s *Supervisor) remedy(err error, state string) string {
	own := s.opt.Own
	flag := own.flag()
	var settings settingsError
	switch {
	case errors.As(err, &settings):
		return "correct the settings " + own.thenReload()
	case errors.Is(err, errCrashing):
		return "report it, with crash.last in " + own.runDir() + "; 'systemctl" + flag + " reload gpusched' makes it begin at once"
	case errors.Is(err, store.ErrNewer):
		return "install the newer release again, or put back the copy that it made: see A DAMAGED STATE FILE in gpusched-admin(7)"
	case errors.Is(err, store.ErrLocked):
		return "end the other gpuschedd, see 'systemctl" + flag + " status gpusched' and 'pgrep -a gpuschedd'"
	case errors.Is(err, errDamagedAgain):
		return "check the disk of " + state + " (journalctl -k, smartctl); the daemon begins another empty file in an hour"
	case errors.Is(err, job.ErrDamaged):
		return "nothing: the daemon begins a new file by itself"
	case errors.Is(err, job.ErrInvalid):
		return "report it with 'journalctl" + flag + " -u gpusched': the daemon restarts by itself, from the last state that it could write"
	case errors.Is(err, units.ErrBus) && own != nil:
		return "systemctl --user status"
	case errors.Is(err, units.ErrBus):
		return "systemctl status dbus"
	case store.Retryable(err):
		return "free space on the disk of " + state + ", or repair it"
	}
	return "see 'journalctl" + flag + " -u gpusched' and that " + state + " can be written"
}
