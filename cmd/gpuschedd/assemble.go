package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/store"
	"github.com/gpusched/gpusched/gpu/kernellog"
	"github.com/gpusched/gpusched/gpu/source"
	"github.com/gpusched/gpusched/units/systemd"
)

// connectTime is how long the first connection to systemd may take.
const connectTime = 30 * time.Second

// assembly is the running daemon with all of its parts.
type assembly struct {
	paths  paths
	log    *slog.Logger
	level  *slog.LevelVar
	cfg    config.Config
	store  *store.Store
	units  *systemd.Manager
	source *source.Source
	kernel *kernellog.Reader // nil: errors of GPUs are not looked for
	daemon *daemon.Daemon
	server *server.Server
	notify *systemd.Notifier

	journal *logQueue // behind log

	quotaGroups atomic.Pointer[[]string]    // changes with each reload
	site        atomic.Pointer[server.Site] // the same
	history     atomic.Pointer[store.History]
}

// assemble opens everything. What was opened is closed again on an error.
func assemble(ctx context.Context, p paths, cfg config.Config, log *slog.Logger, level *slog.LevelVar, journal *logQueue) (*assembly, error) {
	a := &assembly{paths: p, log: log, journal: journal, level: level, cfg: cfg, notify: systemd.NewNotifier()}
	a.quotaGroups.Store(groups(cfg))
	a.site.Store(site(cfg))
	a.history.Store(history(cfg))
	if err := a.open(ctx); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func (a *assembly) open(ctx context.Context) error {
	state, err := a.openState(ctx)
	if err != nil {
		return err
	}
	connect, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if a.units, err = systemd.Connect(connect, systemd.Options{}); err != nil {
		return err
	}
	settings, err := a.settings(a.cfg)
	if err != nil {
		return err
	}
	var args []string
	if lib := a.cfg.GPUs.NVMLLibrary; lib != "" {
		args = []string{"--library", lib}
	}
	a.source = source.New(source.Options{Path: a.paths.nvml, Args: args, Env: childEnv(), Timeout: a.cfg.GPUs.SampleTimeout, Log: a.log})
	var kernel daemon.Kernel
	if path := a.cfg.GPUs.KernelLog; path != "" {
		a.kernel = kernellog.New(path)
		kernel = a.kernel
	}
	a.daemon, err = daemon.New(daemon.Options{
		Store: stored{a.store}, Units: a.units, Changes: daemon.ChangesOf(a.units.Changes()), Source: a.source,
		Kernel: kernel, UnitOf: unitOf,
		Specs: specDir(a.paths.specs), Meter: meter, Inside: inside, Origin: a.units.Origin,
		Forget: func(ctx context.Context) (int, error) { return a.store.Forget(ctx, *a.history.Load(), time.Now()) },
		Notify: a.notify, Log: a.log,
		Restored: restored(state),
		Settings: settings, Launcher: a.paths.launcher, Boot: bootID,
		StartsInFlight: a.cfg.Daemon.StartsInFlight, WatchdogEvery: a.notify.WatchdogInterval() / 3,
		Checks: a.checks(),
	})
	if err != nil {
		return err
	}
	a.server = server.New(server.Options{
		Backend: a.daemon, Log: a.log, Version: version, Commit: commit,
		AdminGroup: func() (int, bool) { return groupID(a.cfg.Daemon.AdminGroup) }, AdminName: a.cfg.Daemon.AdminGroup,
		UserName: userName, UserID: userID,
		QuotaGroups: func() []string { return *a.quotaGroups.Load() }, GroupID: groupID,
		Person: (&subordinates{path: "/etc/subuid"}).owner,
		Site:   func() server.Site { return *a.site.Load() },
	})
	return nil
}

// settings turns the configuration into what the daemon follows.
func (a *assembly) settings(cfg config.Config) (daemon.Settings, error) {
	ram, err := hostMemory()
	if err != nil {
		return daemon.Settings{}, err
	}
	g := cfg.GPUs
	return daemon.Settings{
		Policy:         policy(cfg, ram),
		SampleInterval: g.SampleInterval, TasksMax: uint64(cfg.Jobs.TasksMax),
		ExtraDevices:  func() []cgroup.Device { d, _ := cgroup.StatNodes(g.ExtraDevices); return d },
		RequireFilter: g.DeviceFilter == config.FilterRequire,
	}, nil
}

func (a *assembly) close() {
	if a.source != nil {
		a.source.Close()
	}
	if a.units != nil {
		a.units.Close()
	}
	if a.store != nil {
		if err := a.store.Close(); err != nil {
			a.log.Error("closing the state file", "err", err)
		}
	}
}

// run serves until ctx is done: first the clients are let go, then the
// scheduler stops. Running jobs are not touched.
func (a *assembly) run(ctx context.Context) error {
	listeners, err := a.listen()
	if err != nil {
		return err
	}
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	var parts sync.WaitGroup
	parts.Go(func() { _ = a.daemon.Run(work) })
	parts.Go(func() { a.reloads(work) })
	a.log.Info("gpuschedd is ready", "version", version)
	err = a.server.Serve(ctx, listeners...)
	stopWork()
	parts.Wait()
	return err
}

// listen takes the activated socket, or opens the one that was named.
func (a *assembly) listen() ([]net.Listener, error) {
	if a.paths.socket == "" {
		l, err := systemd.Listeners()
		if err != nil {
			return nil, fmt.Errorf("take the activated socket: %w (start gpusched.socket, or name one with --socket)", err)
		}
		return l, nil
	}
	l, err := net.Listen("unix", a.paths.socket)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", a.paths.socket, err)
	}
	return []net.Listener{l}, os.Chmod(a.paths.socket, 0o666)
}

// reloads reads the configuration again on SIGHUP: all of it is taken on, or
// nothing.
func (a *assembly) reloads(ctx context.Context) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			a.notify.Reloading()
			// Only root can send the signal, or have systemd send it.
			deed := server.Deed{User: "root", Action: "reload", Target: "settings", Outcome: server.Failed}
			if a.reload() {
				deed.Outcome = server.Done
			}
			a.server.Audit(deed)
			a.notify.Ready()
		}
	}
}

// reload tells whether the new configuration is in force.
func (a *assembly) reload() bool {
	cfg, err := load(a.paths)
	if err != nil {
		a.log.Error("reloading the configuration: nothing of it is used, the old one stays", "err", err)
		return false
	}
	settings, err := a.settings(cfg)
	if err != nil {
		a.log.Error("reloading the configuration: the old one stays", "err", err)
		return false
	}
	if late := needRestart(a.cfg, cfg); len(late) > 0 {
		a.log.Warn("some changed settings are taken on at the next restart only", "keys", strings.Join(late, ", "))
	}
	a.level.Set(cfg.Daemon.LogLevel)
	a.daemon.Reload(settings)
	a.quotaGroups.Store(groups(cfg))
	a.site.Store(site(cfg))
	a.history.Store(history(cfg))
	a.log.Info("the configuration is reloaded")
	return true
}

// needRestart names the settings that differ and that a reload can't change.
func needRestart(old, now config.Config) []string {
	var keys []string
	for key, differs := range map[string]bool{
		"gpus.sample_timeout":     old.GPUs.SampleTimeout != now.GPUs.SampleTimeout,
		"gpus.kernel_log":         old.GPUs.KernelLog != now.GPUs.KernelLog,
		"gpus.nvml_library":       old.GPUs.NVMLLibrary != now.GPUs.NVMLLibrary,
		"daemon.starts_in_flight": old.Daemon.StartsInFlight != now.Daemon.StartsInFlight,
		"daemon.admin_group":      old.Daemon.AdminGroup != now.Daemon.AdminGroup,
	} {
		if differs {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// checks are the parts of the machine that only the main knows.
func (a *assembly) checks() []func(context.Context) job.Check {
	return []func(context.Context) job.Check{
		func(context.Context) job.Check { return checkStateFile(a.paths.stateFile()) },
		func(context.Context) job.Check { return checkSystemd(a.units) },
		func(context.Context) job.Check { return checkJournal() },
		func(context.Context) job.Check { return checkJournalReads(a.journal, time.Now()) },
		func(context.Context) job.Check { return checkKernelLog(a.kernel, a.cfg.GPUs.KernelLog) },
		func(context.Context) job.Check { return checkControllers() },
	}
}
