package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/host"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/notes"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/store"
	"github.com/gpusched/gpusched/daemon/supervise"
	"github.com/gpusched/gpusched/gpu/kernellog"
	"github.com/gpusched/gpusched/gpu/source"
	"github.com/gpusched/gpusched/units/systemd"
)

// connectTime is how long the first connection to systemd may take.
const connectTime = 30 * time.Second

// session is the scheduler with all of its parts, from its start until it ends
// or can't go on.
type session struct {
	*assembly
	cfg    config.Config // that it was started with
	store  *store.Store
	units  *systemd.Manager
	source *source.Source
	kernel *kernellog.Reader // nil: errors of GPUs are not looked for
	daemon *daemon.Daemon
}

// newSession opens everything. What was opened is closed again on an error.
func newSession(ctx context.Context, a *assembly) (*session, error) {
	cfg, r, err := load(a.paths)
	if err != nil {
		return nil, &supervise.SettingsError{Err: err}
	}
	a.use(cfg, r)
	s := &session{assembly: a, cfg: cfg}
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *session) open(ctx context.Context) error {
	opened, state, err := s.state.Open(ctx)
	if err != nil {
		return err
	}
	s.store = opened
	connect, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if s.units, err = systemd.Connect(connect, systemd.Options{}); err != nil {
		return err
	}
	settings, err := settingsOf(s.cfg)
	if err != nil {
		return err
	}
	var args []string
	if lib := s.cfg.GPUs.NVMLLibrary; lib != "" {
		args = []string{"--library", lib}
	}
	s.source = source.New(source.Options{Path: s.paths.nvml, Args: args, Env: childEnv(), Timeout: s.cfg.GPUs.SampleTimeout, Log: s.log})
	var kernel daemon.Kernel
	if path := s.cfg.GPUs.KernelLog; path != "" {
		s.kernel = kernellog.New(path)
		kernel = s.kernel
	}
	s.daemon, err = daemon.New(daemon.Options{
		Store: stored{s.store}, Units: s.units, Changes: daemon.ChangesOf(s.units.Changes()), Source: s.source,
		Kernel: kernel, UnitOf: host.UnitOf, Account: host.UserName, InGroup: host.InGroup, Barred: host.Barred, StartUnit: s.units.StartSiteUnit,
		Specs: specDir(s.paths.specs), Meter: meter, Inside: inside, EndProcess: host.EndProcess, Origin: s.units.Origin, System: s.units.System,
		Tell:   notes.NewWriter(s.paths.specs, s.units).Tell,
		Forget: func(ctx context.Context) (int, error) { return s.store.Forget(ctx, *s.history.Load(), time.Now()) },
		Notify: s.notify, Log: s.log,
		Restored: state,
		Settings: settings, Launcher: s.paths.launcher, Boot: host.BootID,
		StartsInFlight: s.cfg.Daemon.StartsInFlight, WatchdogEvery: s.notify.WatchdogInterval() / 3,
		Checks: s.checks(),
	})
	return err
}

// Backend is what answers clients.
func (s *session) Backend() server.Backend { return s.daemon }

// Run works until ctx is done, which is not an error, or until the scheduler can't
// go on.
func (s *session) Run(ctx context.Context, hup <-chan os.Signal) error {
	ctx, stop := context.WithCancel(ctx)
	var parts sync.WaitGroup
	parts.Go(func() { s.reloads(ctx, hup) })
	parts.Go(func() { s.tidy(ctx) })
	s.log.Info("gpuschedd is ready", "version", version)
	err := s.daemon.Run(ctx)
	stop()
	parts.Wait()
	return err
}

// tidyEvery is how often what systemd leaves behind is looked for.
const tidyEvery = time.Minute

// tidy removes, until ctx is done, what systemd leaves behind of ended jobs. What
// went wrong is said when it begins.
func (s *session) tidy(ctx context.Context) {
	every := time.NewTicker(tidyEvery)
	defer every.Stop()
	var said bool
	for {
		err := s.tidyOnce(ctx)
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

func (s *session) tidyOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	return s.units.Tidy(ctx, time.Now())
}

// settingsOf turns the configuration into what the daemon follows.
func settingsOf(cfg config.Config) (daemon.Settings, error) {
	ram, err := host.Memory()
	if err != nil {
		return daemon.Settings{}, err
	}
	g := cfg.GPUs
	return daemon.Settings{
		Policy:         policy(cfg, ram),
		SampleInterval: g.SampleInterval, TasksMax: uint64(cfg.Jobs.TasksMax),
		ExtraDevices:  func() []cgroup.Device { d, _ := cgroup.StatNodes(g.ExtraDevices); return d },
		RequireFilter: g.DeviceFilter == config.FilterRequire,
		AlertUnit:     g.AlertUnit,
	}, nil
}

// Close closes what was opened.
func (s *session) Close() {
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

// checks are the parts of the machine that only the main knows.
func (s *session) checks() []daemon.Check {
	here := func(f func() job.Check) func(context.Context) job.Check {
		return func(context.Context) job.Check { return f() }
	}
	return []daemon.Check{
		{Name: "state file", Look: here(func() job.Check { return checkDamage(s.store.Damage(), s.state.Check()) })},
		{Name: "state disk", Look: here(func() job.Check { return host.CheckSpace(s.paths.state) })},
		{Name: "systemd", Look: func(ctx context.Context) job.Check { return host.CheckSystemd(ctx, s.units) }},
		{Name: "notifications", Look: here(func() job.Check { return host.CheckNotifier(s.notify) })},
		{Name: "journal", Look: here(host.CheckJournal)},
		{Name: "log", Look: here(func() job.Check { return host.CheckLog(s.journal.Stuck(time.Now())) })},
		{Name: "crashes", Look: here(func() job.Check { return s.crashes.Check(time.Now()) })},
		{Name: "kernel log", Look: here(func() job.Check { return host.CheckKernelLog(s.kernel, s.cfg.GPUs.KernelLog) })},
		{Name: "limits", Look: here(host.CheckLimits)},
		{Name: "settings", Look: here(func() job.Check {
			return checkSettings(s.paths, *s.read.Load(), s.assembly.cfg.Load().Daemon.AdminGroup)
		})},
	}
}

// childEnv is our environment without what would let a child speak to systemd
// in our name.
func childEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "NOTIFY_SOCKET=") || strings.HasPrefix(kv, "WATCHDOG_") || strings.HasPrefix(kv, "LISTEN_")
	})
}
