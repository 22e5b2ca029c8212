package supervise

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/directory"
	"github.com/gpusched/gpusched/daemon/host"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/systemd"
)

// Own describes a user's own scheduler (gpuschedd --user). This scheduler runs as the user, its
// jobs are units of the user's systemd, and it serves only the user and root. A nil *Own means the
// machine's scheduler, and all methods work on it.
type Own struct {
	UID    int
	Name   string // name of the account, which the host's files may lack
	Bus    string // address of the private socket of the user's systemd
	Socket string // socket at which clients reach the scheduler
	Linger string // if this file exists, systemd starts the user's services without a login

	root atomic.Pointer[string] // control group of the user's systemd; nil: not known yet
}

// account returns the only account that the scheduler serves, or nil if it serves everybody.
func (o *Own) account() *job.Account {
	if o == nil {
		return nil
	}
	return &job.Account{UID: o.UID, User: o.Name}
}

// socket returns the path at which jobs reach the scheduler, or "" if that is the usual path.
func (o *Own) socket() string {
	if o == nil {
		return ""
	}
	return o.Socket
}

// owner returns the function that checks whether settings files belong to the right user.
func (o *Own) owner() config.OwnerCheck {
	if o == nil {
		return config.RootOnly
	}
	return config.OwnedBy(o.UID)
}

// adjust changes settings that only root can use. In a user's own scheduler, the user is the only
// administrator, and jobs may run without a device filter.
func (o *Own) adjust(cfg config.Config) config.Config {
	if o != nil {
		cfg.Daemon.AdminGroup, cfg.GPUs.DeviceFilter = "", config.FilterPrefer
		cfg.GPUs.Strangers = config.StrangersShow
	}
	return cfg
}

// files returns the accounts and groups in the host's files, and adds the user's own account.
func (o *Own) files() directory.Files {
	files := hostFiles
	if o == nil {
		return files
	}
	files.UserName = func(uid int) string {
		if uid == o.UID {
			return o.Name
		}
		return host.UserName(uid)
	}
	files.UserID = func(name string) (int, bool) {
		if name == o.Name {
			return o.UID, true
		}
		return host.UserID(name)
	}
	return files
}

// systemd returns the options of the connection to the systemd that runs the jobs. The name of the
// connection is stored in the directory dir.
func (o *Own) systemd(dir string) systemd.Options {
	if o == nil {
		return systemd.Options{Last: filepath.Join(dir, "connection")}
	}
	return systemd.Options{Address: o.Bus, User: true}
}

// scope asks systemd for the control group of its units.
func (o *Own) scope(ctx context.Context, m *systemd.Manager) (units.Scope, error) {
	if o == nil {
		return units.Scope{}, nil
	}
	root, err := m.ControlGroup(ctx)
	if err != nil {
		return units.Scope{}, err
	}
	if root == "" || root == "/" {
		return units.Scope{}, fmt.Errorf("the user's systemd says that its control group is %q", root)
	}
	o.root.Store(&root)
	return units.Scope{User: true, Root: root}, nil
}

// missingControllers lists the missing cgroup controllers, without which some limits of jobs are
// not enforced. It returns nil for the machine's scheduler, where only health reports them.
func (o *Own) missingControllers() []string {
	if o == nil || o.root.Load() == nil {
		return nil
	}
	missing, _ := host.Unlimited(*o.root.Load())
	return missing
}

// flag returns the option that makes systemctl, journalctl and gpusched use this scheduler, with a
// space before it. For the machine's scheduler it returns "".
func (o *Own) flag() string { return units.Scope{User: o != nil}.Flag() }

// thenReload returns the advice to check the settings and then reload them.
func (o *Own) thenReload() string {
	return "('gpusched" + o.flag() + " config check' shows every mistake), then 'systemctl" + o.flag() + " reload gpusched'"
}

// runDir returns the directory with files that last until the next boot.
func (o *Own) runDir() string {
	if o == nil {
		return "/run/gpusched (which root can read)"
	}
	return filepath.Dir(o.Socket)
}

// addChecks adds lines to health about what a user's scheduler can't enforce. A part that no user's
// scheduler can have does not count as broken.
func (o *Own) addChecks(list []daemon.Check) []daemon.Check {
	if o == nil {
		return list
	}
	for i := range list {
		if look := list[i].Look; list[i].Name == "kernel log" {
			list[i].Look = func(ctx context.Context) job.Check {
				c := look(ctx)
				if c.Health != job.Healthy {
					c.Health = job.Limited
				}
				return c
			}
		}
	}
	for _, look := range []func() job.Check{host.CheckNoFilter, checkOthers, o.checkOutput, o.checkLinger} {
		list = append(list, daemon.Check{Name: look().Name, Look: func(context.Context) job.Check { return look() }})
	}
	return list
}

// checkLimits reports which limits the kernel enforces.
// A user's systemd has only the controllers that were delegated to it.
func (o *Own) checkLimits() job.Check {
	if o == nil || o.root.Load() == nil {
		return host.CheckLimits()
	}
	c := job.Check{Name: "limits", Health: job.Healthy, Detail: "memory, tasks and CPU limits are enforced"}
	missing, err := host.Unlimited(*o.root.Load())
	switch {
	case err != nil:
		return c.Degrade("not enforced at all: control groups can't be read: "+err.Error(),
			"an administrator can boot the machine with systemd.unified_cgroup_hierarchy=1")
	case len(missing) > 0:
		return c.Degrade("not enforced for: "+strings.Join(missing, ", ")+" (your systemd was not given these controllers)",
			"an administrator can give them to all users: 'systemctl edit user@.service' with [Service] and 'Delegate=cpu memory pids'; this takes effect when your systemd restarts, at the latest at the next boot")
	}
	return c
}

// checkOthers reports what a user's own scheduler does not know about other people.
func checkOthers() job.Check {
	return job.Check{
		Name: "other users", Health: job.Limited,
		Detail: "not enforced: nothing keeps other people, or the machine's scheduler, off the GPUs of your jobs; your jobs wait for GPUs that others use",
	}
}

// checkOutput reports how much of the jobs' output is stored.
func (o *Own) checkOutput() job.Check {
	return job.Check{
		Name: "output", Health: job.Limited,
		Detail: fmt.Sprintf("not enforced: journald limits the lines of all your services together (RateLimitBurst= in journald.conf(5), for user@%d.service), "+
			"and drops the rest", o.UID),
		Next: "--log FILE gets all output of a job",
	}
}

// checkLinger reports whether jobs continue after the last logout of their user.
func (o *Own) checkLinger() job.Check {
	c := job.Check{Name: "logout", Health: job.Healthy, Detail: "lingering is on: jobs continue after you log out"}
	if there, err := host.Exists(o.Linger); err != nil || !there {
		return c.Degrade("lingering is off: at your last logout systemd ends this scheduler and all its jobs", "loginctl enable-linger")
	}
	return c
}
