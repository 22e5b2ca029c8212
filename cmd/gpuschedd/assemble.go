package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/host"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/journal"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/store"
	"github.com/gpusched/gpusched/daemon/supervise"
	"github.com/gpusched/gpusched/units/systemd"
)

// assembly is what lives as long as the process: the socket with its server, the
// journal and the settings. The scheduler behind it is a session, which may fail
// and begin anew; the server tells meanwhile why there is none.
type assembly struct {
	paths   paths
	log     *slog.Logger
	level   *slog.LevelVar
	journal *journal.Queue // behind log
	notify  *systemd.Notifier
	front   *supervise.Front
	server  *server.Server
	state   *supervise.StateFile
	crashes supervise.Crashes // of earlier processes

	cfg         atomic.Pointer[config.Config] // the settings in force
	quotaGroups atomic.Pointer[[]string]      // of them
	site        atomic.Pointer[server.Site]   // of them
	read        atomic.Pointer[reading]       // where they are from
	history     atomic.Pointer[store.History] // of them
}

func assemble(p paths, log *slog.Logger, level *slog.LevelVar, queue *journal.Queue) *assembly {
	a := &assembly{
		paths: p, log: log, journal: queue, level: level, notify: systemd.NewNotifier(),
		front: supervise.NewFront(), state: &supervise.StateFile{Path: p.stateFile(), Log: log},
	}
	a.use(config.Default(), reading{})
	a.server = server.New(server.Options{
		Backend: a.front, Log: log, Version: version, Commit: commit,
		AdminGroup: func() (int, bool) { return host.GroupID(a.cfg.Load().Daemon.AdminGroup) },
		AdminName:  func() string { return a.cfg.Load().Daemon.AdminGroup },
		UserName:   host.UserName, UserID: host.UserID,
		QuotaGroups: func() []string { return *a.quotaGroups.Load() }, GroupID: host.GroupID, Member: host.Member,
		Person: host.NewSubordinates("/etc/subuid").Owner,
		Site:   func() server.Site { return *a.site.Load() },
	})
	return a
}

// use takes on settings, as far as they are the assembly's.
func (a *assembly) use(cfg config.Config, r reading) {
	a.cfg.Store(&cfg)
	a.level.Set(cfg.Daemon.LogLevel)
	a.quotaGroups.Store(groups(cfg))
	a.site.Store(site(cfg))
	a.history.Store(history(cfg))
	a.read.Store(&r)
}

// run serves until ctx is done: first the clients are let go, then the
// scheduler stops. Running jobs are not touched.
func (a *assembly) run(ctx context.Context) error {
	listeners, err := a.listen()
	if err != nil {
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
		gaveUp = a.supervisor().Run(work, hup)
		stopServing()
	})
	err = a.server.Serve(serving, listeners...)
	stopWork()
	parts.Wait()
	return errors.Join(err, gaveUp)
}

// supervisor keeps sessions running behind the front.
func (a *assembly) supervisor() *supervise.Supervisor {
	return &supervise.Supervisor{
		Open: func(ctx context.Context) (supervise.Session, error) {
			s, err := newSession(ctx, a)
			if err != nil {
				return nil, err
			}
			return s, nil
		},
		Front: a.front, State: a.state, Crashes: a.crashes, Notify: a.notify, Log: a.log,
		Reloaded: func() { a.auditReload(server.Done) },
		Checks: func() []job.Check {
			return []job.Check{
				host.CheckSpace(a.paths.state), host.CheckJournal(), host.CheckLog(a.journal.Stuck(time.Now())), host.CheckLimits(),
			}
		},
	}
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
