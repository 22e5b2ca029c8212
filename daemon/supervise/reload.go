package supervise

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/units/launch"
)

// reloadLoop reads the configuration again after each SIGHUP. If it has errors, nothing changes.
func (s *instance) reloadLoop(ctx context.Context, hup <-chan os.Signal) {
	recount := time.NewTicker(recountEvery)
	defer recount.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-recount.C:
			s.recount(s.daemon.Reload)
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

// recountEvery is the time between two counts of the machine's CPUs and Slurm's GPUs,
// which can change at run time.
const recountEvery = 5 * time.Second

// settings converts a configuration into the daemon's settings, for the machine as it is now.
func (s *instance) settings(cfg config.Config) (daemon.Settings, error) {
	cpus, err := s.countCPUs()
	if err != nil {
		return daemon.Settings{}, err
	}
	settings, err := settingsOf(cfg, cpus)
	if err != nil {
		return settings, err
	}
	s.slurm.read()
	settings.Policy.SlurmGPUs = s.slurm.gpus(&cfg)
	s.cpus, s.ofSlurm = cpus, settings.Policy.SlurmGPUs
	return settings, nil
}

// recount applies the settings in force again if the number of CPUs or the set of Slurm's GPUs has
// changed. Running jobs keep what they were promised.
func (s *instance) recount(put func(daemon.Settings)) {
	s.slurm.read()
	cfg := s.cfg.Load()
	was, ofSlurm := s.cpus, s.slurm.gpus(cfg)
	sameGPUs := ofSlurm.Equal(s.ofSlurm)
	now, err := s.countCPUs()
	if err != nil || now == was && sameGPUs {
		return // after an error, the next count comes soon
	}
	settings, err := s.settings(*cfg)
	if err != nil {
		return
	}
	if now != was {
		s.log.Warn("the number of CPUs has changed; running jobs go on", "cpus", s.cpus, "before", was)
	}
	if !sameGPUs {
		s.log.Warn("Slurm's GPUs have changed; running jobs go on", "now", s.slurm.found.Load().Describe(cfg.GPUs.Slurm == config.SlurmAllow))
	}
	put(settings)
}

// auditReload records in the audit log that the settings were read again. The request came from
// root, or from the user of this scheduler: nobody else can send SIGHUP, directly or through
// systemd.
func (s *Supervisor) auditReload(o server.Outcome) {
	by := job.Account{User: "root"}
	if own := s.opt.Own.account(); own != nil {
		by = *own
	}
	s.server.Audit(server.AuditEvent{
		UID: by.UID, User: by.User, Action: "reload", Target: server.Target{Kind: "settings"}, Outcome: o,
	})
}

// load reads the settings files.
func (s *Supervisor) load() (config.Config, config.Snapshot, error) {
	from, err := config.TakeSnapshot(s.opt.Config, s.opt.DropIns)
	if err != nil {
		return config.Config{}, from, err
	}
	cfg, _, err := config.Read(from.Files, s.opt.Own.owner())
	return s.opt.Own.adjust(cfg), from, err
}

// quotaGroups implements daemon.QuotaGroups. If it asks the directory service and gets no answer,
// it returns the groups of the account's last job.
func (s *Supervisor) quotaGroups(uid int, had job.GIDs, wait bool) (in []string) {
	group, member := s.names.KnownGroup, s.names.KnownMember
	if wait {
		group, member = s.names.GroupID, s.names.Member
	}
	for _, name := range s.cfg.Load().QuotaGroups() {
		if gid, ok := group(name); ok {
			if is, known := member(uid, gid); is || wait && !known && slices.Contains(had, gid) {
				in = append(in, name)
			}
		}
	}
	return in
}

// reload reads and applies the configuration. It returns false if the old configuration stays in
// force.
func (s *instance) reload() bool {
	cfg, from, err := s.load()
	if err != nil {
		s.log.Error("reloading the configuration: it has errors, so the old one stays in force", "err", err)
		return false
	}
	settings, err := s.settings(cfg)
	if err != nil {
		s.log.Error("reloading the configuration: the old one stays in force", "err", err)
		return false
	}
	if late := needRestart(s.startedWith, cfg); len(late) > 0 {
		s.log.Warn("some changed settings take effect only at the next restart", "keys", strings.Join(late, ", "))
	}
	for _, c := range config.Changes(*s.cfg.Load(), cfg) {
		s.log.Info("a setting has changed", "setting", c.Key, "value", cmp.Or(c.Now, "not set"), "value-before", cmp.Or(c.Before, "not set"))
	}
	s.applySettings(cfg, from)
	s.daemon.Reload(settings)
	s.log.Info("the configuration is reloaded")
	return true
}

// needRestart returns the names of the changed settings that need a restart.
func needRestart(old, now config.Config) []string {
	keys := map[string]bool{
		"gpus.sample_timeout": old.GPUs.SampleTimeout != now.GPUs.SampleTimeout,
		"gpus.kernel_log":     old.GPUs.KernelLog != now.GPUs.KernelLog,
		"gpus.nvml_library":   old.GPUs.NVMLLibrary != now.GPUs.NVMLLibrary,
	}
	maps.DeleteFunc(keys, func(_ string, differs bool) bool { return !differs })
	return slices.Sorted(maps.Keys(keys))
}

// checkSettings reports settings files that were changed but not read again, and whether they are
// valid. It also reports a group of administrators that does not exist.
func (s *Supervisor) checkSettings() job.Check {
	r, adminGroup := s.read.Load(), s.cfg.Load().Daemon.AdminGroup
	c := job.Check{Name: job.SettingsPart, Health: job.Healthy, Detail: "as they were read at " + r.At.Format(time.DateTime)}
	now, err := config.TakeSnapshot(s.opt.Config, s.opt.DropIns)
	if err != nil {
		return c.Degrade(err.Error(), "gpusched"+s.opt.Own.flag()+" config check")
	}
	if changed := r.Changes(now); len(changed) > 0 {
		c.Health, c.Unread = job.Degraded, true
		c.Detail = fmt.Sprintf("not those that were read at %s: %s", r.At.Format(time.DateTime), strings.Join(changed, ", "))
		c.Next = "systemctl" + s.opt.Own.flag() + " reload gpusched"
		if _, _, err := s.load(); err != nil {
			c.Detail += "; a reload refuses them: " + strings.ReplaceAll(err.Error(), "\n", "; ")
			c.Next = "correct them " + s.opt.Own.thenReload()
		}
		return c
	}
	if site := s.cfg.Load().Jobs.Scratch; site != "" {
		if err := launch.CheckScratch(site); err != nil {
			return c.Degrade("no job starts, since jobs.scratch can't be used: "+err.Error(), "correct the directory, or the setting")
		}
	}
	if _, there := s.names.KnownGroup(adminGroup); adminGroup != "" && !there {
		return c.Degrade(fmt.Sprintf("there is no group %q (daemon.admin_group), so only root is an administrator", adminGroup),
			"groupadd --system "+adminGroup+", or name another")
	}
	return c
}
