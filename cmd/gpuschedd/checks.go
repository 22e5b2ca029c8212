package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu/kernellog"
	"github.com/gpusched/gpusched/units/systemd"
)

func checkSystemd(m *systemd.Manager) job.Check {
	c := job.Check{Name: "systemd", Health: job.Healthy, Detail: "connected over the system bus"}
	if ok, since, err := m.Connected(); !ok {
		c.Health = job.Degraded
		c.Detail = fmt.Sprintf("no connection since %s: %v", since.Format("15:04:05"), err)
		c.Next = "systemctl status dbus; running jobs are not affected, and the daemon connects again by itself"
		return c
	}
	if missing := m.Degraded(); len(missing) > 0 {
		c.Health = job.Degraded
		c.Detail = "this systemd does not know: " + strings.Join(missing, ", ")
		c.Next = "jobs run without these; systemd 249 or newer knows more of them"
	}
	return c
}

// checkJournal tells whether users can read their jobs' output: only a
// persistent journal is split by user.
func checkJournal() job.Check {
	if _, err := os.Stat("/var/log/journal"); err != nil {
		return job.Check{
			Name: "journal", Health: job.Degraded,
			Detail: "the journal is not persistent, so users can't read their own jobs' output",
			Next:   "mkdir /var/log/journal && systemctl restart systemd-journald",
		}
	}
	return job.Check{Name: "journal", Health: job.Healthy, Detail: "persistent: users read their own jobs' output"}
}

// checkKernelLog tells whether errors of GPUs are noticed; r is nil where the
// site wants none.
func checkKernelLog(r *kernellog.Reader, path string) job.Check {
	c := job.Check{Name: "kernel log", Health: job.Healthy, Detail: "errors that the driver reports of GPUs (Xids) are noticed"}
	if r == nil {
		c.Detail = "errors that the driver reports of GPUs (Xids) are not looked for, by gpus.kernel_log"
		return c
	}
	if err := r.Trouble(); err != nil {
		c.Health, c.Detail = job.Degraded, "errors that the driver reports of GPUs (Xids) are not noticed: "+err.Error()
		c.Next = "let the daemon read " + path + ", or set gpus.kernel_log; a GPU that is lost is noticed all the same"
	}
	return c
}

// checkJournalReads tells whether journald takes what the daemon logs.
func checkJournalReads(q *logQueue, now time.Time) job.Check {
	c := job.Check{Name: "log", Health: job.Healthy, Detail: "journald takes what the daemon logs"}
	if since, lost := q.stuck(now); !since.IsZero() {
		c.Health = job.Degraded
		c.Detail = fmt.Sprintf("journald has not read since %s; %d lines had no room and are left out", since.Format("15:04:05"), lost)
		c.Next = "systemctl status systemd-journald, and restart it; the scheduler works meanwhile, jobs that write much wait for it"
	}
	return c
}

// checkControllers tells which limits the kernel really enforces.
func checkControllers() job.Check {
	c := job.Check{Name: "limits", Health: job.Healthy, Detail: "memory, tasks and CPU limits are enforced"}
	have, err := cgroup.Controllers(cgroup.Root)
	if err != nil {
		c.Health, c.Detail = job.Degraded, "control groups can't be read: "+err.Error()
		c.Next = "boot with systemd.unified_cgroup_hierarchy=1"
		return c
	}
	missing := cgroup.Limits{MemBytes: 1, TasksMax: 1, CPUs: 1}.Missing(have)
	if len(missing) > 0 {
		c.Health = job.Degraded
		c.Detail = "limits are not enforced for: " + strings.Join(missing, ", ") + " (the kernel has no such controller in the version 2 hierarchy)"
		c.Next = "boot with systemd.unified_cgroup_hierarchy=1 and without cgroup_disable="
	}
	return c
}
