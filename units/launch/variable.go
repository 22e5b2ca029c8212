package launch

import (
	"strings"

	"github.com/gpusched/gpusched/units/contract"
)

// kind is what a variable is about, as far as the launcher cares.
type kind int

const (
	plain kind = iota

	// ours are set by the launcher, or left out on purpose. What anybody else
	// says in them about the job is not true.
	ours

	// ofUnit is what a service manager says about one unit. That of the
	// submitter's unit is not the job's.
	ofUnit

	// notPassedOn are descriptors and sockets that the job does not have.
	notPassedOn

	// ofSession belongs to a login session. The job outlives it, and what it
	// names is gone after the logout, or is a terminal: programs fail on it
	// where they would do without. SSH_AUTH_SOCK is not of this kind: ssh goes
	// on without a dead agent, and a lasting one is what people want.
	ofSession

	// taste is what a submitter also chooses by not having it.
	taste

	// ofShell is what a shell leaves for its child.
	ofShell
)

func kindOf(name string) kind {
	switch name {
	case "CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
		"GPUSCHED_JOB_ID", "GPUSCHED_ATTEMPT", "GPUSCHED_GPU_IDS", "GPUSCHED_GPU_UUIDS", "GPUSCHED_GPU_SHARE",
		"GPUSCHED_GPU_MEM_MIB", "GPUSCHED_ARRAY_JOB", "GPUSCHED_ARRAY_TASK", contract.TerminalVariable, contract.SandboxVariable,
		contract.TasksVariable, otherPort:
		return ours
	case "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE":
		return ofUnit
	case "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_PIDFDID", "LISTEN_FDNAMES", "WATCHDOG_USEC", "WATCHDOG_PID",
		"MAINPID", "MANAGERPID", "MANAGERPIDFDID", "FDSTORE", "CREDENTIALS_DIRECTORY":
		return notPassedOn
	case "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "XDG_SESSION_ID", "XDG_SESSION_TYPE", "XDG_SESSION_CLASS",
		"XDG_SEAT", "XDG_VTNR", "SSH_TTY", "GPG_TTY":
		return ofSession
	case "PATH", "LANG", "LANGUAGE":
		return taste
	case "_", "SHLVL", "OLDPWD":
		return ofShell
	}
	if strings.HasPrefix(name, "LC_") {
		return taste
	}
	return plain
}
