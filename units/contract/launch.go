package contract

// Step is the step before a job's command at which its launch failed. The empty
// value means that the command began.
type Step string

// The steps, all but the last the launcher's own.
const (
	StepSpec   Step = "spec"   // its instructions could not be written, or were unreadable
	StepChdir  Step = "chdir"  // the working directory
	StepExec   Step = "exec"   // the command itself
	StepShell  Step = "shell"  // the user's login shell, for --env login
	StepFilter Step = "filter" // the device filter is not active
	StepLimits Step = "limits" // umask or resource limits
	StepSetup  Step = "setup"  // what the submitter has done before the command
	StepAway   Step = "away"   // a file system: the user's home is not there, or what the site mounts for the directory
	StepUnit   Step = "unit"   // systemd could not start the unit at all
)

// Steps lists them all.
func Steps() []Step {
	return []Step{StepSpec, StepChdir, StepExec, StepShell, StepFilter, StepLimits, StepSetup, StepAway, StepUnit}
}

// ExitStatus returns the launcher's exit status for a step of its own, and -1 for
// any other word. The numbers are what systemd uses for the like.
func (s Step) ExitStatus() int {
	switch s {
	case StepSpec:
		return 225
	case StepChdir, StepAway:
		return 200
	case StepExec, StepShell:
		return 203
	case StepFilter:
		return 226
	case StepLimits:
		return 227
	case StepSetup:
		return 223
	}
	return -1
}

// AfterSetup are the steps at which a launch can fail when the set-up has begun.
func AfterSetup() []Step { return []Step{StepSetup, StepExec} }

// What the launcher sends the service manager as its status line, which 'systemctl status' shows to people.
const (
	StatusPrefix     = "gpusched: the job's command can't be started, failed step: " // the Step that failed follows
	StatusBegun      = "gpusched: the job's command has been started"                // it has nothing else to say
	StatusUnfiltered = StatusBegun + ", without a device filter"

	// StatusSetup is the last word of a launcher that lets the submitter's own set-up
	// run: from then on the exit status alone says how that went.
	StatusSetup = "gpusched: the job's set-up has been started, its command follows"
)

// TellFlag has the launcher print the note that lies beside a spec instead of
// starting a job. It is what a job's unit does to reload: the note is then in
// the job's own journal, as if the job had printed it, where its user finds it.
const TellFlag = "--tell"

// CheckFlag makes the launcher go through the steps before a command and begin no command. systemd runs it before the
// main process of a job when it is not known whether the launcher survives what the site set for jobs.
const CheckFlag = "--check"

// MaxSignal is the highest signal number on Linux, that of a real-time signal.
const MaxSignal = 64
