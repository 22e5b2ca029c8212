package contract

// HoldFlag makes gpusched-job run a command in a terminal and keep that terminal open (package
// units/terminal/hold). The next argument has the limits that apply to the command but not to
// gpusched-job (see LimitFlag), or is NoLimits. The command follows.
const HoldFlag = "--hold"

// AimedFlag comes before HoldFlag or ScreenFlag if systemd sends some signals only to the unit's
// main process. The main process must pass these signals on to the command. The next argument has
// their numbers, separated by commas.
const AimedFlag = "--aimed"

// LimitFlag makes gpusched-job set limits for a command and then replace itself with that command.
// The limits may be so low that gpusched-job itself could not run. The next argument has the
// limits, such as NPROC=100:200, separated by commas.
const (
	LimitFlag = "--limit"
	NoLimits  = "-"
)

// ScreenFlag replaces HoldFlag for a job in a session of GNU screen. The name of the session
// precedes the command. gpusched-job runs in that session with ScreenShowFlag and the job's id.
// After the job, it runs with ScreenEndFlag and the path of the spec, and removes what the session
// left.
const (
	ScreenFlag     = "--screen"
	ScreenShowFlag = "--screen-show"
	ScreenEndFlag  = "--screen-end"
)

// ScreenDirVariable names another directory for the sockets of GNU screen.
const ScreenDirVariable = "SCREENDIR"

// ScreenPrograms lists the paths where GNU screen may be.
func ScreenPrograms() []string {
	return []string{"/usr/bin/screen", "/bin/screen", "/usr/local/bin/screen"}
}

// DoorNote is a note (see TellFlag) that is not printed. The process that reads the note starts
// another process in the unit: the door of a job without a terminal, which listens for commands of
// the job's user. DoorFlag, followed by the job, makes gpusched-job be that door.
const (
	DoorNote = "\x00door"
	DoorFlag = "--door"
)

// TerminalVariable, in a job's environment, has the name of the job's terminal if that name is not
// the job's id. A user's own scheduler uses the same ids as the machine's scheduler, and the
// terminals of both belong to that user.
const TerminalVariable = "GPUSCHED_TERMINAL"

// UserTerminal returns the name of the terminal of a job under a user's own systemd.
func UserTerminal(job string) string { return "user-" + job }

// SandboxVariable is set to SandboxAllowed in the environment of jobs if the site lets sandboxed
// processes submit. Such processes may then also run extra commands in the job's unit.
const (
	SandboxVariable = "GPUSCHED_SANDBOX"
	SandboxAllowed  = "allowed"
)

// TasksVariable is in the submitted environment of a Slurm script that asks for tasks. Its value
// is the number of tasks, which the job gets in Slurm's variables.
const TasksVariable = "GPUSCHED_TASKS"

// SandboxHint tells people what to do after a sandboxed process was refused.
const SandboxHint = "do it from an ordinary session, or let an administrator set jobs.allow_sandboxed (gpusched.toml(5))"
