package launch

import (
	"strings"

	"github.com/gpusched/gpusched/units/contract"
)

// kind classifies variables for the launcher.
type kind int

const (
	plain kind = iota

	// ours are variables that the launcher sets, or leaves out on purpose. A value that anybody
	// else sets would be wrong.
	ours

	// ofUnit are variables in which a service manager describes one unit. Those about the
	// submitter's unit do not apply to the job.
	ofUnit

	// notPassedOn are variables that name descriptors and sockets that the job does not have.
	notPassedOn

	// ofSession are variables of a login session. The job outlives the session. After the logout,
	// what such a variable names is gone, or is a terminal that is no longer the user's. Some
	// programs fail in such a case although they work without the variable. SSH_AUTH_SOCK is not of
	// this kind: ssh ignores a dead agent, and people want to use an agent that lasts.
	ofSession

	// preference is a variable that a submitter may choose not to have.
	preference

	// ofShell are variables that a shell leaves to its children.
	ofShell
)

func kindOf(name string) kind {
	switch name {
	case "CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
		"GPUSCHED_JOB_ID", "GPUSCHED_ATTEMPT", "GPUSCHED_GPU_IDS", "GPUSCHED_GPU_UUIDS", "GPUSCHED_GPU_SHARE",
		"GPUSCHED_GPU_MEM_MIB", "GPUSCHED_ARRAY_JOB", "GPUSCHED_ARRAY_TASK", contract.TerminalVariable, contract.SandboxVariable,
		contract.GroupVariable, contract.AimedVariable, contract.FractionVariable, contract.ScratchVariable,
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
