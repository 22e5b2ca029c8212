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

// CheckSystemd reports whether systemd answers, and whether its version is new enough.
func CheckSystemd(ctx context.Context, m *systemd.Manager, user bool) job.Check {
	c := job.Check{Name: "systemd"}
	see, answers := "systemctl status dbus", "over the system bus"
	if user {
		see, answers = "systemctl --user status", "to its user"
	}
	next := see + "; running jobs are not affected, and the daemon connects again by itself"
	if ok, since, err := m.Connected(); !ok {
		return c.Degrade(fmt.Sprintf("no connection since %s: %v", since.Format("15:04:05"), err), next)
	}
	version, err := m.Version(ctx)
	if err != nil {
		return c.Degrade("it does not answer "+answers+": "+err.Error(), next)
	}
	return judgeSystemd(version, answers, m.Degraded())
}

// leastSystemd is the oldest version that kept the device filters of running units closed during a
// reload in our tests. Version 249 opens them for 0.1 to 0.2 s at each reload (systemd#17489).
// Versions 250 and 251 were never tested.
const leastSystemd = 252

// judgeSystemd reports the consequences that a version of systemd has for jobs,
// and the properties that this version lacks.
func judgeSystemd(version, answers string, missing []string) job.Check {
	c := job.Check{Name: "systemd", Health: job.Healthy, Detail: "version " + version + " answers " + answers}
	if len(missing) > 0 {
		c = c.Degrade("version "+version+" does not know: "+strings.Join(missing, ", "),
			fmt.Sprintf("jobs run without these; systemd %d or newer knows more of them", leastSystemd))
	}
	var n int // 252 for a version such as "252.39-1~deb12u2"
	if _, err := fmt.Sscanf(version, "%d", &n); err == nil && n > 0 && n < leastSystemd {
		return c.Degrade(
			fmt.Sprintf("version %s is too old: each daemon-reload may open all GPUs to all running jobs for a moment, and what a job opens then stays open", version),
			fmt.Sprintf("upgrade the machine to systemd %d or newer (Debian 12, Ubuntu 24.04, RHEL 9)", leastSystemd))
	}
	return c
}

// CheckNotifier reports whether the daemon can notify systemd's watchdog.
func CheckNotifier(n *systemd.Notifier, flag string) job.Check {
	c := job.Check{Name: "watchdog", Health: job.Healthy, Detail: "systemd is told that the scheduler is alive"}
	if err := n.Err(); err != nil {
		return c.Degrade("systemd can't be told that the scheduler is alive: "+err.Error(),
			"if systemd hangs, only a reboot helps, and jobs go on until then; if not, 'systemctl"+flag+" restart gpusched'")
	}
	return c
}

const (
	journalDir    = "/var/log/journal"
	machineIDFile = "/etc/machine-id"
)

// CheckJournal reports whether users can read their jobs' output. Only a persistent journal allows
// this, because otherwise journald makes no files per user. The journal is persistent if it has a
// directory for this machine. With Storage=volatile or Storage=none there is no such directory.
func CheckJournal() job.Check {
	c := job.Check{Name: "journal", Health: job.Healthy, Detail: "persistent: users can read their own jobs' output"}
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

// CheckDirectoryUIDs names the uids that can't read their jobs' output even if the journal is
// healthy.
func CheckDirectoryUIDs(c job.Check, systemd string) job.Check {
	if c.Health != job.Healthy {
		return c
	}
	c.Detail += ", except accounts with uids from 61184 to 65519"
	var n int
	if _, err := fmt.Sscanf(systemd, "%d", &n); err == nil && n >= 253 {
		c.Detail += fmt.Sprintf(" and from 524288 to 1879048191, which directories give to people (systemd %d, unless the distribution changed it)", n)
		c.Next = "if people have such uids, set jobs.log, which gives each job a file, or add them to the group systemd-journal"
	}
	return c
}

// leastSpace is the number of bytes by which the state file may grow in a busy hour.
const leastSpace = 256 << 20

// CheckSpace reports whether the disk of the state file is almost full.
func CheckSpace(dir string) job.Check {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return job.Check{Name: "state disk", Health: job.Degraded, Detail: fmt.Sprintf("%s: %v", dir, err), Next: "make sure that it exists and can be read"}
	}
	free := int64(st.Bavail) * st.Bsize
	c := job.Check{Name: "state disk", Health: job.Healthy, Detail: job.FormatSize(free>>20<<20) + " free in " + dir}
	if free < leastSpace {
		c.Health, c.Next = job.Degraded, "free space before it is full: then no job is accepted or started"
	}
	return c
}

// CheckKernelLog reports whether the daemon reads GPU errors from the kernel log. The argument r is
// nil if the configuration says that the daemon does not read them.
func CheckKernelLog(r *kernellog.Reader, path string) job.Check {
	c := job.Check{Name: "kernel log", Health: job.Healthy, Detail: "errors that the driver reports of GPUs (Xids) are noticed"}
	if r == nil {
		c.Detail = "errors that the driver reports of GPUs (Xids) are not read (gpus.kernel_log = \"\")"
		return c
	}
	if err := r.Trouble(); err != nil {
		return c.Degrade("errors that the driver reports of GPUs (Xids) are not noticed: "+err.Error(),
			"let the daemon read "+path+", or set gpus.kernel_log; lost GPUs are noticed anyway")
	}
	return c
}

// CheckLog reports whether journald reads the daemon's log. The argument since is the time when
// journald stopped reading, and dropped is the number of lines that were dropped.
func CheckLog(since time.Time, dropped uint64) job.Check {
	c := job.Check{Name: "log", Health: job.Healthy, Detail: "journald reads what the daemon logs"}
	if !since.IsZero() {
		return c.Degrade(
			fmt.Sprintf("journald has not read since %s; %d lines had no room and were left out", since.Format("15:04:05"), dropped),
			"systemctl status systemd-journald, and restart it; the scheduler goes on, but jobs that write much wait for it")
	}
	return c
}

// Unlimited lists the cgroup controllers that are missing below a control group. Without a
// controller, the kernel does not limit the controller's resource there. If the control group can't
// be read, Unlimited lists all controllers.
func Unlimited(group string) ([]string, error) {
	have, err := cgroup.Controllers(filepath.Join(cgroup.Root, group))
	return cgroup.Missing(have), err
}

// CheckLimits reports which of the jobs' limits the kernel enforces.
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
