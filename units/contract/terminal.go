package contract

// HoldFlag makes gpusched-job run a command in a terminal and hold that terminal (package
// units/terminal/hold). The next word has the limits of the command, which are not the holder's
// (LimitFlag), or NoLimits; then comes the command.
const HoldFlag = "--hold"

// AimedFlag comes before HoldFlag or ScreenFlag if only the unit's main process gets some signals,
// which it must pass on to the command. The next word has their numbers, separated by commas.
const AimedFlag = "--aimed"

// LimitFlag makes gpusched-job become a command under limits under which gpusched-job itself could
// not run. The next word has the limits, such as NPROC=100:200, separated by commas.
const (
	LimitFlag = "--limit"
	NoLimits  = "-"
)

// ScreenFlag is HoldFlag for a job in a session of GNU screen, whose name precedes the command.
// ScreenShowFlag, with the job's id, is what runs in that session. ScreenEndFlag, with the path of
// the spec, runs after the job and removes what a session left.
const (
	ScreenFlag     = "--screen"
	ScreenShowFlag = "--screen-show"
	ScreenEndFlag  = "--screen-end"
)

// ScreenDirVariable tells GNU screen another directory for its sockets.
const ScreenDirVariable = "SCREENDIR"

// ScreenPrograms lists the paths where GNU screen may be.
func ScreenPrograms() []string {
	return []string{"/usr/bin/screen", "/bin/screen", "/usr/local/bin/screen"}
}

// DoorNote is a note (TellFlag) that is not printed: the process that reads it leaves another one
// behind, which listens for commands of the job's user, the door of a job without a terminal.
// DoorFlag makes gpusched-job be that process, for the job that follows.
const (
	DoorNote = "\x00door"
	DoorFlag = "--door"
)

// TerminalVariable names a job's terminal in its environment if that is not the job's id: a user's
// own scheduler uses the same ids as the machine's, and the terminals of both belong to that user.
const TerminalVariable = "GPUSCHED_TERMINAL"

// UserTerminal returns the name of the terminal of a job under a user's own systemd.
func UserTerminal(job string) string { return "user-" + job }

// SandboxVariable is SandboxAllowed in the environment of jobs if the site lets sandboxed processes
// submit. They may then run commands beside such a job, too.
const (
	SandboxVariable = "GPUSCHED_SANDBOX"
	SandboxAllowed  = "allowed"
)

// TasksVariable is in the environment of a submission by a Slurm script that asks for several
// tasks: their number. The job gets it in Slurm's variables.
const TasksVariable = "GPUSCHED_TASKS"

// SandboxHint tells a sandboxed process what to do after a refusal.
const SandboxHint = "do it from an ordinary session, or let an administrator set jobs.allow_sandboxed (gpusched.toml(5))"
