package launch

import (
	"strings"

	"github.com/gpusched/gpusched/units/contract"
)

// kind classifies variables for the launcher.
type kind int

const (
	plain kind = iota

	// ours are set by the launcher, or left out on purpose. The values of anybody else would be
	// wrong.
	ours

	// ofUnit are a service manager's statements about one unit. Those about the submitter's unit do
	// not apply to the job.
	ofUnit

	// notPassedOn name descriptors and sockets that the job does not have.
	notPassedOn

	// ofSession belongs to a login session. The job outlives it, and what the variable names is
	// gone after the logout, or is a terminal: programs fail where they would work without the
	// variable. SSH_AUTH_SOCK is not of this kind: ssh ignores a dead agent, and a lasting one is
	// what people want.
	ofSession

	// preference is a variable that a submitter may choose not to have.
	preference

	// ofShell is what a shell leaves for its children.
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
		return preference
	case "_", "SHLVL", "OLDPWD":
		return ofShell
	}
	if strings.HasPrefix(name, "LC_") {
		return preference
	}
	return plain
}
