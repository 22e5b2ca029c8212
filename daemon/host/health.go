package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu/kernellog"
	"github.com/gpusched/gpusched/units/systemd"
)

// CheckSystemd reports whether systemd answers, and whether its version will do.
func CheckSystemd(ctx context.Context, m *systemd.Manager, user bool) job.Check {
	c := job.Check{Name: "systemd"}
	see, answers := "systemctl status dbus", "over the system bus"
	if user {
		see, answers = "systemctl --user status", "to its user"
	}
	next := see + "; running jobs are not affected, and the daemon goes on by itself"
	if ok, since, err := m.Connected(); !ok {
		return c.Degrade(fmt.Sprintf("no connection since %s: %v", since.Format("15:04:05"), err), next)
	}
	version, err := m.Version(ctx)
	if err != nil {
		return c.Degrade("it does not answer "+answers+": "+err.Error(), next)
	}
	return judgeSystemd(version, answers, m.Degraded())
}

// leastSystemd is the oldest version that was seen to keep the device filter of
// running units closed while it reloads. 249 opens it for 0.1 to 0.2 s each time
// (systemd#17489); 250 and 251 were never tried.
const leastSystemd = 252

// judgeSystemd reports what a version means, and properties that it does not know.
func judgeSystemd(version, answers string, missing []string) job.Check {
	c := job.Check{Name: "systemd", Health: job.Healthy, Detail: "version " + version + " answers " + answers}
	if len(missing) > 0 {
		c = c.Degrade("version "+version+" does not know: "+strings.Join(missing, ", "),
			fmt.Sprintf("jobs run without these; systemd %d or newer knows more of them", leastSystemd))
	}
	var n int // of "252.39-1~deb12u2"
	if _, err := fmt.Sscanf(version, "%d", &n); err == nil && n > 0 && n < leastSystemd {
		return c.Degrade(
			fmt.Sprintf("version %s is too old: each daemon-reload may open all GPUs to all running jobs for a moment, and what one opens then stays open", version),
			fmt.Sprintf("upgrade the machine to systemd %d or newer (Debian 12, Ubuntu 24.04, RHEL 9)", leastSystemd))
	}
	return c
}

// CheckNotifier reports whether systemd hears that the daemon is alive.
func CheckNotifier(n *systemd.Notifier, flag string) job.Check {
	c := job.Check{Name: "watchdog", Health: job.Healthy, Detail: "systemd hears that the scheduler is alive"}
	if err := n.Err(); err != nil {
		return c.Degrade("systemd was not told how the daemon is: "+err.Error(),
			"where systemd hangs, only a reboot helps, and jobs go on until then; else 'systemctl"+flag+" restart gpusched'")
	}
	return c
}

const (
	journalDir    = "/var/log/journal"
	machineIDFile = "/etc/machine-id"
)

// CheckJournal reports whether users can read their jobs' output: only a
// persistent journal is split by user. It is there when journald keeps a
// directory for this machine, which Storage=volatile and none keep it from.
func CheckJournal() job.Check {
	c := job.Check{Name: "journal", Health: job.Healthy, Detail: "persistent: users read their own jobs' output"}
	const volatile = "the journal is not persistent, so users can't read their own jobs' output"
	if _, err := os.Stat(journalDir); err != nil {
		return c.Degrade(volatile, "mkdir /var/log/journal && systemctl restart systemd-journald")
	}
	id, err := os.ReadFile(machineIDFile)
	if err == nil {
		_, err = os.Stat(filepath.Join(journalDir, strings.TrimSpace(string(id))))
	}
	if err != nil {
		return c.Degrade(volatile,
			"see Storage= in journald.conf(5), then systemctl restart systemd-journald and journalctl --flush")
	}
	return c
}

// CheckDirectoryUIDs adds whom a healthy journal keeps from reading.
func CheckDirectoryUIDs(c job.Check, systemd string) job.Check {
	if c.Health != job.Healthy {
		return c
	}
	c.Detail += ", except accounts with uids from 61184 to 65519"
	var n int
	if _, err := fmt.Sscanf(systemd, "%d", &n); err == nil && n >= 253 {
		c.Detail += fmt.Sprintf(" and from 524288 to 1879048191, which directories give to people (systemd %d, unless the distribution has changed that)", n)
		c.Next = "where people have such uids, set jobs.log, which gives each job a file, or add them to the group systemd-journal"
	}
	return c
}

// leastSpace is what the state file may need in a busy hour.
const leastSpace = 256 << 20

// CheckSpace reports a disk that is about to fill up.
func CheckSpace(dir string) job.Check {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return job.Check{Name: "state disk", Health: job.Degraded, Detail: fmt.Sprintf("%s: %v", dir, err), Next: "see that it is there and can be read"}
	}
	free := int64(st.Bavail) * st.Bsize
	c := job.Check{Name: "state disk", Health: job.Healthy, Detail: job.FormatSize(free>>20<<20) + " free in " + dir}
	if free < leastSpace {
		c.Health, c.Next = job.Degraded, "free space before it is full: nothing new is accepted or started then"
	}
	return c
}

// CheckKernelLog reports whether errors of GPUs are noticed; r is nil where the
// site wants none.
func CheckKernelLog(r *kernellog.Reader, path string) job.Check {
	c := job.Check{Name: "kernel log", Health: job.Healthy, Detail: "errors that the driver reports of GPUs (Xids) are noticed"}
	if r == nil {
		c.Detail = "errors that the driver reports of GPUs (Xids) are not looked for, by gpus.kernel_log"
		return c
	}
	if err := r.Trouble(); err != nil {
		return c.Degrade("errors that the driver reports of GPUs (Xids) are not noticed: "+err.Error(),
			"let the daemon read "+path+", or set gpus.kernel_log; a GPU that is lost is noticed all the same")
	}
	return c
}

// CheckLog reports whether journald takes what the daemon logs: since when
// it has not, and how many lines had no room.
func CheckLog(since time.Time, lost uint64) job.Check {
	c := job.Check{Name: "log", Health: job.Healthy, Detail: "journald takes what the daemon logs"}
	if !since.IsZero() {
		return c.Degrade(
			fmt.Sprintf("journald has not read since %s; %d lines had no room and are left out", since.Format("15:04:05"), lost),
			"systemctl status systemd-journald, and restart it; the scheduler works meanwhile, jobs that write much wait for it")
	}
	return c
}

// Unlimited lists the controllers that are missing below a control group, and without
// which nothing there is limited: all of them, where that can't be read.
func Unlimited(group string) ([]string, error) {
	have, err := cgroup.Controllers(filepath.Join(cgroup.Root, group))
	return cgroup.Missing(have), err
}

// CheckLimits reports which limits the kernel really enforces.
func CheckLimits() job.Check {
	c := job.Check{Name: "limits", Health: job.Healthy, Detail: "memory, tasks and CPU limits are enforced"}
	missing, err := Unlimited("/")
	if err != nil {
		return c.Degrade("control groups can't be read: "+err.Error(), "boot with systemd.unified_cgroup_hierarchy=1")
	}
	if len(missing) > 0 {
		return c.Degrade("limits are not enforced for: "+strings.Join(missing, ", ")+
			" (the kernel has no such controller in the version 2 hierarchy)",
			"boot with systemd.unified_cgroup_hierarchy=1 and without cgroup_disable=")
	}
	return c
}
