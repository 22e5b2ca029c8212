package installation

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// fenceDropIn is the drop-in for user slices. It closes the GPUs to all sessions except root's.
const fenceDropIn = "user-.slice.d/50-gpusched-fence.conf"

const closeSessions = "'cp -rs /usr/share/gpusched/fence/. /etc/systemd/system/ && systemctl daemon-reload'"

// checkFence reports whether GPUs can be opened outside of jobs. It tries to open the device
// filter's probe node instead of a GPU. The probe node has no driver; opening a GPU would wake the
// GPU.
func (h host) checkFence() job.Check {
	groups, _ := os.ReadFile(h.path("/proc/self/cgroup"))
	if strings.Contains(string(groups), "/"+contract.UnitPrefix) {
		return healthy("sessions", "this is a job, which opens its own GPUs and no others")
	}
	closed := false
	for _, dir := range unitDirs {
		_, err := os.Stat(h.path(filepath.Join(dir, fenceDropIn)))
		closed = closed || err == nil
	}
	f, err := os.OpenFile(h.path(contract.ProbePath), os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err == nil {
		_ = f.Close()
	}
	return fenceCheck(closed, err, os.Geteuid() == 0)
}

// fenceCheck returns the check for the result of opening the probe node. The argument installed
// says whether the drop-ins are installed.
func fenceCheck(installed bool, opening error, root bool) job.Check {
	const name = "sessions"
	switch {
	case errors.Is(opening, syscall.EPERM):
		return healthy(name, "this session cannot open GPUs: they are for jobs")
	case installed && root:
		return healthy(name, "login sessions, cron and at cannot open GPUs; root's own sessions can")
	case installed:
		return degraded(name, "GPUs are closed to login sessions, but this one can open them",
			"'systemctl daemon-reload', and see with 'systemd-cgls' whether sessions are in user.slice: "+
				"those without pam_systemd are not; THE FENCE in gpusched-admin(7)")
	}
	return job.Check{
		Name: name, Health: job.Healthy, Detail: "GPUs can be opened outside of jobs too",
		Next: "if only jobs should use GPUs, close them to login sessions, cron and at by " + closeSessions +
			"; it breaks nvidia-smi there, see THE FENCE in gpusched-admin(7)",
	}
}
