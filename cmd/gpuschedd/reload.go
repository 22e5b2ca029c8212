package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/server"
)

// reloads reads the configuration again on SIGHUP: all of it is taken on, or
// nothing.
func (s *session) reloads(ctx context.Context, hup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			s.notify.Reloading()
			outcome := server.Failed
			if s.reload() {
				outcome = server.Done
			}
			s.auditReload(outcome)
			s.notify.Ready()
		}
	}
}

// auditReload notes that somebody had the settings read again: root, who alone
// can send the signal, or have systemd send it.
func (a *assembly) auditReload(o server.Outcome) {
	a.server.Audit(server.Deed{User: "root", Action: "reload", Target: server.Target{Kind: "settings"}, Outcome: o})
}

// reload reports whether the new configuration is in force.
func (s *session) reload() bool {
	a := s.assembly
	cfg, r, err := load(a.paths)
	if err != nil {
		a.log.Error("reloading the configuration: nothing of it is used, the old one stays", "err", err)
		return false
	}
	settings, err := settingsOf(cfg)
	if err != nil {
		a.log.Error("reloading the configuration: the old one stays", "err", err)
		return false
	}
	if late := needRestart(s.cfg, cfg); len(late) > 0 {
		a.log.Warn("some changed settings are taken on at the next restart only", "keys", strings.Join(late, ", "))
	}
	a.use(cfg, r)
	s.daemon.Reload(settings)
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
	} {
		if differs {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
