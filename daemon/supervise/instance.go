package supervise

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/host"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/store"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/gpu/driver"
	"github.com/gpusched/gpusched/gpu/kernellog"
	"github.com/gpusched/gpusched/gpu/source"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/systemd"
)

// connectTime limits the first connection to systemd, and each search that tidy makes for files.
const connectTime = 30 * time.Second

// instance is one run of the scheduler with all its parts.
// It lasts until the scheduler ends or can't continue.
type instance struct {
	*Supervisor
	startedWith config.Config
	store       *store.Store
	units       *systemd.Manager
	source      *source.Source
	kernel      *kernellog.Reader // nil: GPU errors are not read
	daemon      *daemon.Daemon
	scope       units.Scope
	slurm       slurm

	countCPUs func() (int, error) // number of online CPUs

	// These fields belong to the settings in force.
	cpus    int              // number that the machine has
	ofSlurm site.GPUsOfSlurm // GPUs that no job gets
}

// newInstance opens all parts. After an error it closes the parts that it has opened.
func newInstance(ctx context.Context, s *Supervisor) (*instance, error) {
	cfg, from, err := s.load()
	if err != nil {
		return nil, settingsError{err}
	}
	s.applySettings(cfg, from)
	in := &instance{Supervisor: s, startedWith: cfg, countCPUs: host.CPUs}
	if err := in.open(ctx); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

func (s *instance) open(ctx context.Context) error {
	opened, state, err := s.state.open(ctx)
	if err != nil {
		return err
	}
	s.store = opened
	connect, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if s.units, err = systemd.Connect(connect, s.opt.Own.systemd(filepath.Dir(s.opt.Specs))); err != nil {
		return err
	}
	if s.scope, err = s.opt.Own.scope(connect, s.units); err != nil {
		return err
	}
	settings, err := s.settings(s.startedWith)
	if err != nil {
		return err
	}
	var args []string
	if lib := s.startedWith.GPUs.NVMLLibrary; lib != "" {
		args = []string{"--library", lib}
	}
	if s.scope.User {
		args = append(args, "--below", s.scope.Root)
	}
	s.source = source.New(source.Options{
		Path: s.opt.NVML, Args: args, Env: s.childEnv(), Timeout: s.startedWith.GPUs.SampleTimeout, Log: s.log,
	})
	var kernel daemon.Kernel
	if path := s.startedWith.GPUs.KernelLog; path != "" {
		s.kernel = kernellog.New(path)
		kernel = s.kernel
	}
	messages := &sender{
		Dir: s.opt.Specs, Program: filepath.Join(filepath.Dir(s.opt.Launcher), "gpusched-notify"), Host: hostname(),
		Units: s.units, Scope: s.scope, Render: s.server.Describe,
		Bars:    func(m *job.Notify) job.Message { return s.cfg.Load().Notify.Bars(m) },
		Webhook: func(name string) string { return s.cfg.Load().Notify.Webhooks[name] },
	}
	proofs := &prover{Program: s.opt.NVML, Scope: s.scope, Units: s.units}
	parks := &parker{
		Program: s.opt.NVML, Scope: s.scope, Units: s.units, Owner: func(pid int) gpu.Owner { return gpu.OwnerOf("/proc", pid) },
	}
	dirs := &directories{Program: s.opt.Launcher, Scope: s.scope, Units: s.units}
	toJobs := newNoteWriter(s.opt.Specs, s.units, s.scope)
	s.daemon, err = daemon.New(daemon.Options{
		Store: s.store, Forget: s.forget, Restored: state, Specs: specDir(s.opt.Specs),
		Units: s.units, Changes: daemon.ChangesOf(s.units.Changes()), Origin: s.units.Origin, System: s.units.System,
		StartUnit: s.units.StartSiteUnit, Tell: toJobs.Tell, Open: toJobs.Open, Notify: s.notify,
		Deliver: messages.Deliver, TellUser: messages.TellUser, Prove: proofs.prove, Park: parks.park, Inhibit: inhibit,
		Remove: dirs.remove, MakeScratch: dirs.makeHome,
		Scheduled: scheduledEnd, Reboot: s.reboot(),
		Source: s.source, Kernel: kernel,
		Driver: func() gpu.DriverVersions { return driver.Installed("") }, HasCUDA: func() bool { return driver.HasCUDA("") },
		UnitOf: host.UnitOf(s.scope.Root), Account: s.names.KnownName, InGroup: s.names.InGroup, Person: s.person,
		NameToday: s.names.NameToday, Groups: s.quotaGroups, Barred: host.Barred,
		Meter: host.Meter, MemUsed: host.MemUsed, Inside: host.Processes, EndProcess: host.EndProcess, Boot: host.BootID,
		Settings: settings, Scope: s.scope, Socket: s.opt.Own.socket(),
		Launcher:      s.opt.Launcher,
		LauncherFile:  func() string { return fileAt(s.opt.Launcher) },
		WatchdogEvery: s.notify.WatchdogInterval() / 3, Checks: s.checks(), Log: s.log, Tally: s.tally,
	})
	return err
}

// run runs the scheduler until ctx is done, and then returns nil. It returns an error if the
// scheduler can't continue.
func (s *instance) run(ctx context.Context, hup <-chan os.Signal) error {
	ctx, stop := context.WithCancel(ctx)
	var parts sync.WaitGroup
	parts.Go(func() { s.reloadLoop(ctx, hup) })
	parts.Go(func() { s.tidy(ctx) })
	parts.Go(func() { s.boundMemory(ctx) })
	s.log.Info("gpuschedd is ready", "version", s.opt.Version)
	err := s.daemon.Run(ctx)
	stop()
	parts.Wait()
	return err
}

// boundEvery is the time between two adjustments of the memory limits.
const boundEvery = 10 * time.Second

// boundMemory limits the garbage until ctx is done. It also gives unneeded memory back to the
// system, for example after the state was read.
func (s *instance) boundMemory(ctx context.Context) {
	goGC := ""
	for _, kv := range s.opt.Environ {
		if value, is := strings.CutPrefix(kv, "GOGC="); is {
			goGC = value
		}
	}
	every := time.NewTicker(boundEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			host.BoundGarbage(goGC)
			host.ReturnMemory()
		case <-ctx.Done():
			return
		}
	}
}

// inhibit takes a lock of logind that prevents the actions in a list, such as "sleep:idle".
func inhibit(ctx context.Context, what string) (daemon.Lock, error) {
	lock, err := systemd.Inhibit(ctx, what, "jobs run; 'gpusched list' shows them")
	if err != nil {
		return nil, err
	}
	return lock, nil
}

// reboot returns the function that reboots the machine. A user's own scheduler has none.
func (s *instance) reboot() func(ctx context.Context, why string) error {
	if s.scope.User {
		return nil
	}
	return systemd.Reboot
}

// scheduledEnd returns the shutdown of the machine that logind has scheduled.
func scheduledEnd(ctx context.Context) (job.Shutdown, error) {
	how, at, err := systemd.ScheduledShutdown(ctx)
	return job.Shutdown{At: at, How: how}, err
}

// forget removes old ended jobs, according to the limits of the settings in force.
func (s *instance) forget(ctx context.Context) (int, error) {
	l := s.cfg.Load().Limits
	return s.store.Forget(ctx, store.History{UserBytes: l.UserHistory, Age: l.HistoryAge}, time.Now())
}

// childEnv returns the daemon's environment without the variables that would allow a child process
// to send messages to systemd in the daemon's name.
func (s *instance) childEnv() []string {
	return slices.DeleteFunc(slices.Clone(s.opt.Environ), func(kv string) bool {
		return strings.HasPrefix(kv, "NOTIFY_SOCKET=") || strings.HasPrefix(kv, "WATCHDOG_") || strings.HasPrefix(kv, "LISTEN_")
	})
}

// tidyEvery is the time between two searches for files that systemd leaves behind.
const tidyEvery = time.Minute

// tidy removes files that systemd leaves behind for ended jobs, until ctx is done.
// It logs only the first of several errors in a row.
func (s *instance) tidy(ctx context.Context) {
	every := time.NewTicker(tidyEvery)
	defer every.Stop()
	var said bool
	for {
		bounded, cancel := context.WithTimeout(ctx, connectTime)
		err := s.units.Tidy(bounded, time.Now())
		cancel()
		if err != nil && !said && ctx.Err() == nil {
			s.log.Warn("files of ended jobs' units stay in /run", "err", err)
		}
		said = err != nil
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

// close closes all parts that newInstance has opened.
func (s *instance) close() {
	if s.source != nil {
		if err := s.source.Close(); err != nil {
			s.log.Warn("closing the reader of the GPUs", "err", err)
		}
	}
	if s.units != nil {
		s.units.Close()
	}
	if s.store != nil {
		if err := s.store.Close(); err != nil {
			s.log.Error("closing the state file", "err", err)
		}
	}
}

// checks returns the checks of health that package daemon does not have.
func (s *instance) checks() []daemon.Check {
	here := func(f func() job.Check) func(context.Context) job.Check {
		return func(context.Context) job.Check { return f() }
	}
	list := []daemon.Check{
		{Name: "state file", Look: here(func() job.Check { return checkDamage(s.store.Damage(), s.state.check()) })},
		{Name: "state disk", Look: here(func() job.Check { return host.CheckSpace(s.opt.State) })},
		{Name: "systemd", Look: func(ctx context.Context) job.Check { return host.CheckSystemd(ctx, s.units, s.opt.Own != nil) }},
		{Name: "watchdog", Look: here(func() job.Check { return host.CheckNotifier(s.notify, s.opt.Own.flag()) })},
		{Name: "journal", Look: func(ctx context.Context) job.Check {
			version, _ := s.units.Version(ctx) // if systemd does not answer, another line of health says so
			return host.CheckDirectoryUIDs(host.CheckJournal(), version)
		}},
		{Name: "log", Look: here(s.checkLog)},
		{Name: "crashes", Look: here(func() job.Check { return s.crashes.check(time.Now()) })},
		{Name: "kernel log", Look: here(func() job.Check { return host.CheckKernelLog(s.kernel, s.startedWith.GPUs.KernelLog) })},
		{Name: "limits", Look: here(s.opt.Own.checkLimits)},
		{Name: "shared memory", Look: here(host.CheckSharedMemory)},
		{Name: job.RebootsCheck, Look: here(host.CheckReboots)},
		{Name: "accounts", Look: here(func() job.Check { return s.names.Check() })},
		{Name: "settings", Look: here(s.checkSettings)},
		{Name: "slurm", Look: here(func() job.Check { return s.slurm.check(s.cfg.Load()) })},
	}
	return s.opt.Own.addChecks(list)
}

// checkDamage returns the health check c. If reads of the state file have found damage since the
// start, the check says so. The daemon continues, since the live jobs are in memory.
func checkDamage(damage error, c job.Check) job.Check {
	if damage == nil {
		return c
	}
	return c.Degrade("a part of it can't be read; waiting and running jobs are not affected: "+damage.Error(),
		"check the disk (journalctl -k); let the waiting jobs end before you restart the scheduler: a restart moves the file aside and begins an empty one")
}

// checkLog reports the state of the log. It also reports a log level that
// somebody set and may have forgotten.
func (s *Supervisor) checkLog() job.Check {
	c := host.CheckLog(s.opt.Journal.Stuck(time.Now()))
	if now, settings := s.verbose.Level(); now != settings {
		c.Detail += fmt.Sprintf("; its level is %s until a restart, and %s in the settings", strings.ToLower(now.String()), strings.ToLower(settings.String()))
	}
	return c
}
