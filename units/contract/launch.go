package contract

// Step is the step at which a launch failed before the job's command began. "" means that the
// command began.
type Step string

// The steps. All but StepUnit belong to the launcher.
const (
	StepSpec   Step = "spec"   // the spec could not be written or read
	StepChdir  Step = "chdir"  // the working directory
	StepExec   Step = "exec"   // the command itself
	StepShell  Step = "shell"  // the user's login shell, for --env login
	StepFilter Step = "filter" // the device filter is not active
	StepLimits Step = "limits" // umask or resource limits
	StepSetup  Step = "setup"  // the submitter's set-up before the command
	StepAway   Step = "away"   // a file system is missing: the user's home, or a mount of the site for the directory
	StepUnit   Step = "unit"   // systemd could not start the unit at all

	StepScratch Step = "scratch" // the job's scratch directory could not be made

	StepContainer Step = "container" // the image was not pulled, or its engine does not work
	StepEngine    Step = "engine"    // the daemon of its container's engine is stopped
)

// Steps lists all steps.
func Steps() []Step {
	return []Step{
		StepSpec, StepChdir, StepExec, StepShell, StepFilter, StepLimits, StepSetup, StepAway, StepUnit, StepContainer,
		StepScratch, StepEngine,
	}
}

// ExitStatus returns the launcher's exit status for one of its steps, and -1 for any other word.
// systemd uses the same numbers for similar failures.
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
	case StepSetup, StepContainer, StepEngine:
		return 223
	case StepScratch:
		return 238
	}
	return -1
}

// AfterSetup returns the steps at which a launch can fail once the set-up has begun.
func AfterSetup() []Step { return []Step{StepSetup, StepExec} }

// The launcher's status lines, which 'systemctl status' shows to people.
const (
	StatusPrefix     = "gpusched: the job's command can't be started, failed step: " // followed by the Step that failed
	StatusBegun      = "gpusched: the job's command has been started"                // the launch succeeded
	StatusUnfiltered = StatusBegun + ", without a device filter"

	// StatusLogin is the status line while the user's login shell reads its files. If the unit ends
	// with it, the shell ended instead of running the launcher again.
	StatusLogin = "gpusched: the user's login shell has been started, the job's command follows"

	// StatusSetup is the last status line of a launcher that runs the submitter's set-up. A later
	// failure is reported by the exit status alone.
	StatusSetup = "gpusched: the job's set-up has been started, its command follows"
)

// TellFlag makes the launcher print a note for the job's user instead of starting a job. The note
// is in a file next to the spec. systemd runs the launcher with TellFlag when a job's unit is
// reloaded, so that the note is in the job's own journal, where its user finds it.
const TellFlag = "--tell"

// CheckFlag makes the launcher go through the steps that precede a command, and stop there. If it
// is unknown whether the launcher can run under the site's settings for jobs, systemd runs it with
// this flag before a job's main process.
const CheckFlag = "--check"

// MaxSignal is the highest signal number on Linux, the last real-time signal.
const MaxSignal = 64
