package contract

// HoldFlag has gpusched-job run a command in a terminal and hold that (package
// units/terminal/hold). The word after it has the limits that are the command's and not
// the holder's (LimitFlag), NoLimits where there are none; then comes the command.
const HoldFlag = "--hold"

// AimedFlag is before HoldFlag or ScreenFlag where only the unit's main process gets some
// signals, which the command is to have instead: their numbers are in the word after it,
// with a comma between them.
const AimedFlag = "--aimed"

// LimitFlag has gpusched-job become a command under limits under which it could not
// live itself. They are in the word after it, such as NPROC=100:200, those of several
// resources with a comma between them.
const (
	LimitFlag = "--limit"
	NoLimits  = "-"
)

// ScreenFlag is HoldFlag for a job in a session of GNU screen, the name of which is before
// the command; ScreenShowFlag what runs in that session, with the job's id; and
// ScreenEndFlag what runs after the job and leaves nothing of a session behind that had
// no time to, with the path of the job's instructions.
const (
	ScreenFlag     = "--screen"
	ScreenShowFlag = "--screen-show"
	ScreenEndFlag  = "--screen-end"
)

// ScreenDirVariable is where GNU screen has its sockets, instead of in its usual place.
const ScreenDirVariable = "SCREENDIR"

// ScreenPrograms are where GNU screen is looked for.
func ScreenPrograms() []string {
	return []string{"/usr/bin/screen", "/bin/screen", "/usr/local/bin/screen"}
}

// DoorNote is a note (TellFlag) that is not to be printed: the process that reads it
// leaves one behind that listens for commands of the job's user, the door of a job that
// has no terminal. DoorFlag has gpusched-job be that, for the job that follows.
const (
	DoorNote = "\x00door"
	DoorFlag = "--door"
)

// TerminalVariable names the terminal of a job in its environment where that is not the
// job's id: a user's own scheduler counts its jobs as the machine's does, and the
// terminals of both are that user's.
const TerminalVariable = "GPUSCHED_TERMINAL"

// UserTerminal names the terminal of a job of a user's own systemd.
func UserTerminal(job string) string { return "user-" + job }

// SandboxVariable is in the environment of jobs, as SandboxAllowed, where the site lets
// processes in a sandbox submit: they may run commands beside such a job, too.
const (
	SandboxVariable = "GPUSCHED_SANDBOX"
	SandboxAllowed  = "allowed"
)

// TasksVariable is in what a job is submitted with where a script for Slurm asks for several tasks: how many. The
// job finds it in Slurm's variables.
const TasksVariable = "GPUSCHED_TASKS"

// SandboxHint is for whoever is refused because it is in a sandbox.
const SandboxHint = "do it from an ordinary session, or let an administrator set jobs.allow_sandboxed (gpusched.toml(5))"
