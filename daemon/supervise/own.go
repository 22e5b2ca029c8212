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

// Own is what differs for a user's own scheduler (gpuschedd --user): it runs as that user, its jobs
// are units of that user's systemd, and it serves only the user and root. Its methods may be called
// on nil, the machine's scheduler.
type Own struct {
	UID    int
	Name   string // of the account, even if no file of the host has it
	Bus    string // address of the private socket of the user's systemd
	Socket string // where clients reach the scheduler
	Linger string // a file that exists if systemd starts the user's services without a login

	root atomic.Pointer[string] // control group of the user's systemd; nil: not asked yet
}

// account returns the only account that is served; nil: everybody.
func (o *Own) account() *job.Account {
	if o == nil {
		return nil
	}
	return &job.Account{UID: o.UID, User: o.Name}
}

// socket returns where jobs reach the scheduler.
func (o *Own) socket() string {
	if o == nil {
		return ""
	}
	return o.Socket
}

// owner returns the check of the owner of settings files.
func (o *Own) owner() config.OwnerCheck {
	if o == nil {
		return config.RootOnly
	}
	return config.OwnedBy(o.UID)
}

// settings removes settings that need root: the user is the administrator, and jobs run without a
// device filter.
func (o *Own) settings(cfg config.Config) config.Config {
	if o != nil {
		cfg.Daemon.AdminGroup, cfg.GPUs.DeviceFilter = "", config.FilterPrefer
	}
	return cfg
}

// files returns the host's files, with the user's own account.
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

// systemd returns how to reach the systemd that runs the jobs. dir is for the name of our
// connection.
func (o *Own) systemd(dir string) systemd.Options {
	if o == nil {
		return systemd.Options{Last: filepath.Join(dir, "connection")}
	}
	return systemd.Options{Address: o.Bus, User: true}
}

// scope asks systemd where its units are.
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

// unlimited lists the controllers that are missing, so that limits of jobs are not enforced. For
// the machine's scheduler only health reports them.
func (o *Own) unlimited() []string {
	if o == nil || o.root.Load() == nil {
		return nil
	}
	missing, _ := host.Unlimited(*o.root.Load())
	return missing
}

// flag returns the option that makes systemctl, journalctl and gpusched use this scheduler, with a space before it.
func (o *Own) flag() string { return units.Scope{User: o != nil}.Flag() }

// thenReload says what to do once the settings are corrected.
func (o *Own) thenReload() string {
	return "('gpusched" + o.flag() + " config check' shows every mistake), then 'systemctl" + o.flag() + " reload gpusched'"
}

// runDir returns the directory of files that last until the next boot.
func (o *Own) runDir() string {
	if o == nil {
		return "/run/gpusched (which root can read)"
	}
	return filepath.Dir(o.Socket)
}

// checks adds to the lines of health what is not enforced. What no user can have does not count as
// broken.
func (o *Own) checks(list []daemon.Check) []daemon.Check {
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

// checkLimits reports the limits that the kernel enforces: a user's systemd has only the
// controllers that were delegated to it.
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

// checkOthers reports what a user's own queue does not know about other people.
func checkOthers() job.Check {
	return job.Check{
		Name: "other users", Health: job.Limited,
		Detail: "not enforced: nothing keeps other people, or the machine's scheduler, off the GPUs of your jobs; your jobs wait for GPUs that others use",
	}
}

// checkOutput reports how much of the output of jobs is kept.
func (o *Own) checkOutput() job.Check {
	return job.Check{
		Name: "output", Health: job.Limited,
		Detail: fmt.Sprintf("not enforced: journald limits the lines of all your services together (RateLimitBurst= in journald.conf(5), for user@%d.service), "+
			"and drops the rest", o.UID),
		Next: "--log FILE gets all output of a job",
	}
}

// checkLinger reports whether jobs outlive the last session of their user.
func (o *Own) checkLinger() job.Check {
	c := job.Check{Name: "logout", Health: job.Healthy, Detail: "lingering is on: jobs continue after you log out"}
	if there, err := host.Exists(o.Linger); err != nil || !there {
		return c.Degrade("lingering is off: at your last logout systemd ends this scheduler and all its jobs", "loginctl enable-linger")
	}
	return c
}
