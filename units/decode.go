package units

import (
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/units/contract"
)

// Phase is where a job's unit is in its life.
type Phase string

// The phases. An exited unit holds its result until it is stopped.
const (
	PhaseAbsent        Phase = "absent"          // systemd does not know it
	PhaseStarting      Phase = "starting"        // queued, or the launcher is not executed yet
	PhaseRunning       Phase = "running"         // the main process lives, also while it is being stopped
	PhaseStopping      Phase = "stopping"        // the main process is gone, the result may still change: look again
	PhaseExited        Phase = "exited"          // the main process ended and Exit says how
	PhaseFailedToStart Phase = "failed-to-start" // systemd never got to execute the launcher
)

// Decode reads what became of a unit. The Exit means something in the phases
// exited, failed-to-start and, as far as known, stopping.
func Decode(s Status) (Phase, contract.Exit) {
	phase := phaseOf(s)
	switch phase {
	case PhaseFailedToStart:
		return phase, startFailure(s)
	case PhaseExited, PhaseStopping:
		return phase, exitOf(s)
	}
	return phase, contract.Exit{}
}

// phaseOf goes by the main process, not by systemd's word, where a unit is on its
// way down: the process itself can have it called deactivating (STOPPING=1) and
// put off the end of that (EXTEND_TIMEOUT_USEC) for as long as it likes.
func phaseOf(s Status) Phase {
	ended := s.MainCode != 0
	switch s.Active {
	case ActiveActivating:
		return PhaseStarting
	case ActiveActive, ActiveReloading:
		if s.Sub == SubExited {
			return PhaseExited
		}
		return PhaseRunning
	case ActiveDeactivating:
		if s.MainPID != 0 {
			return PhaseRunning
		}
		return PhaseStopping
	case ActiveFailed:
		if executed(s) {
			return PhaseExited
		}
		return PhaseFailedToStart
	}
	switch { // inactive, or a word of some later systemd
	case s.Load == LoadNotFound || s.Load == "":
		return PhaseAbsent
	case s.JobPending:
		return PhaseStarting
	case ended && s.WasActive:
		return PhaseExited
	}
	return PhaseAbsent
}

// executed reports whether the launcher of a failed unit was ever executed. A
// launcher that ends at once can do so before systemd has taken notice that it
// began, and then the unit never was active. What is left to tell its end from
// systemd's own failure is that it spoke (it says StatusBegun, or more, before
// another program takes its place, and nobody else sets the status line), and
// without that the exit statuses that systemd keeps for itself. One that systemd ended since a program
// of the site's failed that runs after the start counts as never executed: the site's mistake is no end of the job's.
func executed(s Status) bool {
	switch {
	case s.WasActive:
		return true
	case s.PostFailed:
		return false
	case s.StatusText != "":
		return true
	case s.MainCode == CLDExited:
		_, systemds := execSteps[s.MainStatus]
		return !systemds
	}
	return (s.MainCode == CLDKilled || s.MainCode == CLDDumped) && s.Result != ResultTimeout
}

func exitOf(s Status) contract.Exit {
	e := contract.Exit{OOM: s.Result == ResultOOM, Stopped: s.Stopped || s.Result == ResultTimeout}
	switch s.MainCode {
	case CLDExited:
		e.Code = int(s.MainStatus)
	case CLDKilled, CLDDumped:
		e.Signal = int(s.MainStatus)
	}
	if l := launchOf(s); l != "" {
		e.Launch, e.Errno = l, int(s.StatusErrno)
	}
	return e
}

// launchOf believes a launch failure only where status line and exit status agree
// (invariant 6). Whoever has a set-up of their own can make them agree; that is
// then said of their own job.
func launchOf(s Status) contract.Step {
	if s.StatusText == contract.StatusSetup && s.MainCode == CLDExited {
		for _, step := range contract.AfterSetup() {
			if int(s.MainStatus) == step.ExitStatus() {
				return step
			}
		}
		return ""
	}
	word, ok := strings.CutPrefix(s.StatusText, contract.StatusPrefix)
	if step := contract.Step(word); ok && s.MainCode == CLDExited && int(s.MainStatus) == step.ExitStatus() {
		return step
	}
	return ""
}

// Wordless reports whether the main process ended badly within a second and nothing shows that the launcher came as far
// as the command. It proves nothing: systemd may not have listened.
func (s *Status) Wordless() bool {
	return (s.MainCode == CLDKilled || s.MainCode == CLDDumped || s.MainCode == CLDExited && s.MainStatus != 0) &&
		s.StatusText == "" && !s.Stopped && s.Ended-s.Started < 1_000_000
}

// startFailure reads a unit that never became active: the exit status, if any,
// is systemd's own.
func startFailure(s Status) contract.Exit {
	e := exitOf(s)
	e.Launch, e.Errno = contract.StepUnit, 0
	e.Stopped = false
	e.Detail = "systemd: " + s.Result
	if s.PostFailed {
		e.Detail = "a program that the site set to run after the start of jobs in gpujob-.service.d failed or took too long"
		return e
	}
	code, status := s.MainCode, s.MainStatus
	if s.CheckCode != 0 {
		code, status = s.CheckCode, s.CheckStatus
		how := "exit status"
		if code != CLDExited {
			how = "signal"
		}
		e.Detail = fmt.Sprintf("the launcher ended with %s %d before it began the command: what the site set for jobs in "+
			"gpujob-.service.d forbids what it needs, or its file is damaged", how, status)
	}
	if code == CLDExited && s.Result == ResultExitCode {
		if step, ok := execSteps[status]; ok {
			e.Detail = fmt.Sprintf("systemd could not %s (%d)", step, status)
		}
	}
	return e
}
