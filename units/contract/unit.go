package contract

// The name of a job's unit is its id between UnitPrefix and UnitSuffix: "gpujob-42.service".
const (
	UnitPrefix = "gpujob-"
	UnitSuffix = ".service"
)

// UserIdentifier returns the journal identifier of a job under a user's own systemd.
func UserIdentifier(job string) string { return "user-" + UnitPrefix + job }

// SocketVariable names the scheduler's socket in the environment of programs that talk to it.
const SocketVariable = "GPUSCHED_SOCKET"
