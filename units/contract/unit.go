package contract

// The name of a job's unit is its id between these two: "gpujob-42.service".
const (
	UnitPrefix = "gpujob-"
	UnitSuffix = ".service"
)

// UserIdentifier is the name under which the journal has the lines of a job of a user's
// own systemd.
func UserIdentifier(job string) string { return "user-" + UnitPrefix + job }

// SocketVariable names the scheduler's socket in the environment of programs that ask it.
const SocketVariable = "GPUSCHED_SOCKET"
