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

// Own is what differs where the scheduler is one user's own (gpuschedd --user): it runs
// as that user, its jobs are units of that user's systemd, and it serves nobody else but
// root. Its methods may be called on nil, which is the scheduler of the machine.
type Own struct {
	UID    int
	Name   string // of the account, also where no file of the host has it
	Bus    string // address of the private socket of the user's systemd
	Socket string // where clients find the scheduler
	Linger string // a file that is there where systemd starts the user's services without a login

	root atomic.Pointer[string] // the control group of the user's systemd; nil: not asked yet
}

// account is who is served; nil: everybody.
func (o *Own) account() *job.Account {
	if o == nil {
		return nil
	}
	return &job.Account{UID: o.UID, User: o.Name}
}

// socket is where jobs find the scheduler.
func (o *Own) socket() string {
	if o == nil {
		return ""
	}
	return o.Socket
}

// owner says whose files of settings are read.
func (o *Own) owner() config.OwnerCheck {
	if o == nil {
		return config.RootOnly
	}
	return config.OwnedBy(o.UID)
}

// settings leaves out what needs root: the user is the administrator, and jobs run
// without a device filter.
func (o *Own) settings(cfg config.Config) config.Config {
	if o != nil {
		cfg.Daemon.AdminGroup, cfg.GPUs.DeviceFilter = "", config.FilterPrefer
	}
	return cfg
}

// files are what the host's files say, and who the user is.
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

// systemd is that which has the jobs' units. The directory is for the name of our connection with it.
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

// unlimited lists the controllers without which limits of jobs are not enforced. Of the
// machine's scheduler health alone tells.
func (o *Own) unlimited() []string {
	if o == nil || o.root.Load() == nil {
		return nil
	}
	missing, _ := host.Unlimited(*o.root.Load())
	return missing
}

// flag is the option with which systemctl, journalctl and gpusched are about this scheduler, with a space before it.
func (o *Own) flag() string { return units.Scope{User: o != nil}.Flag() }

// thenReload says what to do about mistakes in the settings.
func (o *Own) thenReload() string {
	return "('gpusched" + o.flag() + " config check' shows every mistake), then 'systemctl" + o.flag() + " reload gpusched'"
}

// runDir is where it keeps what lasts until the machine is restarted.
func (o *Own) runDir() string {
	if o == nil {
		return "/run/gpusched (which root can read)"
	}
	return filepath.Dir(o.Socket)
}

// checks adds what is not enforced to the lines of health. What no user can have is no
// sign that something is broken.
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

// checkLimits reports which limits the kernel enforces: of what the machine has, a
// user's systemd has what was delegated to it.
func (o *Own) checkLimits() job.Check {
	if o == nil || o.root.Load() == nil {
		return host.CheckLimits()
	}
	c := job.Check{Name: "limits", Health: job.Healthy, Detail: "memory, tasks and CPU limits are enforced"}
	missing, err := host.Unlimited(*o.root.Load())
	switch {
	case err != nil:
		return c.Degrade("not enforced, none of them: control groups can't be read: "+err.Error(),
			"an administrator boots the machine with systemd.unified_cgroup_hierarchy=1")
	case len(missing) > 0:
		return c.Degrade("not enforced for: "+strings.Join(missing, ", ")+" (your systemd was not given these controllers)",
			"an administrator gives them to all users: 'systemctl edit user@.service' with [Service] and 'Delegate=cpu memory pids'; it counts when your systemd is started again, at the latest with the next boot")
	}
	return c
}

// checkOthers says what one user's queue knows of other people.
func checkOthers() job.Check {
	return job.Check{
		Name: "other users", Health: job.Limited,
		Detail: "not enforced: nothing keeps other people, or the machine's scheduler, off the GPUs of your jobs; what they use is seen, and jobs wait for it",
	}
}

// checkOutput says how much of the output of jobs is kept.
func (o *Own) checkOutput() job.Check {
	return job.Check{
		Name: "output", Health: job.Limited,
		Detail: fmt.Sprintf("not enforced: journald bounds the lines of all your services together (RateLimitBurst= in journald.conf(5), for user@%d.service), "+
			"and drops what jobs print faster", o.UID),
		Next: "--log FILE has all that a job prints",
	}
}

// checkLinger reports whether jobs outlive the last session of their user.
func (o *Own) checkLinger() job.Check {
	c := job.Check{Name: "logout", Health: job.Healthy, Detail: "lingering is on: jobs go on when you have logged out"}
	if there, err := host.Exists(o.Linger); err != nil || !there {
		return c.Degrade("lingering is off: with your last logout systemd ends this scheduler and all of its jobs", "loginctl enable-linger")
	}
	return c
}
