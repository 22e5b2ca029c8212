package units

import (
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/units/contract"
)

// Phase is a stage in the life of a job's unit.
type Phase string

// The phases. An exited unit keeps its result until it is stopped.
const (
	PhaseAbsent        Phase = "absent"          // systemd does not know the unit
	PhaseStarting      Phase = "starting"        // queued, or the launcher has not been executed yet
	PhaseRunning       Phase = "running"         // the main process is alive, even if it is being stopped
	PhaseStopping      Phase = "stopping"        // the main process is gone, but the result may still change: read again
	PhaseExited        Phase = "exited"          // the main process has ended, and Exit says how
	PhaseFailedToStart Phase = "failed-to-start" // systemd could not execute the launcher
)

// Decode returns the phase of a unit and how its main process ended. The Exit is complete in the
// phases exited and failed-to-start. In the phase stopping it has what is known so far, and in any
// other phase it is empty.
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

// phaseOf relies on the main process, and not on systemd's state, while a unit is being stopped. A
// process can itself make systemd call its unit deactivating (STOPPING=1), and prolong that state
// as long as it likes (EXTEND_TIMEOUT_USEC).
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
		if wasExecuted(s) {
			return PhaseExited
		}
		return PhaseFailedToStart
	}
	switch { // inactive, or a state that only a later systemd has
	case s.Load == LoadNotFound || s.Load == "":
		return PhaseAbsent
	case s.JobPending:
		return PhaseStarting
	case ended && s.WasActive:
		return PhaseExited
	}
	return PhaseAbsent
}

// wasExecuted reports whether the launcher of a failed unit was executed. A launcher may end before
// systemd notices its start. In that case the unit was never active, just as after a failure of
// systemd. Two signs show that the launcher was executed. The first is a status line: only the
// launcher can set it, and it does so before it becomes another program. The second, without a
// status line, is an exit status that systemd does not reserve. If a failed ExecStartPost= program
// of the site ended the launcher, the launcher counts as never executed, because the mistake is the
// site's and not the job's.
func wasExecuted(s Status) bool {
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
	e := contract.Exit{OOM: s.Result == ResultOOM, Engine: s.EngineEnded, Server: s.ServerEnded,
		Stopped: s.Stopped || s.Result == ResultTimeout}
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

// launchOf returns the step of a launch failure if the status line and the exit status agree on the
// step (invariant 6). A submitter's set-up can forge both, but that misreports only the submitter's
// own job.
func launchOf(s Status) contract.Step {
	if s.StatusText == contract.StatusSetup && s.MainCode == CLDExited {
		for _, step := range contract.AfterSetup() {
			if int(s.MainStatus) == step.ExitStatus() {
				return step
			}
		}
		return ""
	}
	if s.StatusText == contract.StatusLogin && s.MainCode == CLDExited {
		return contract.StepShell
	}
	word, ok := strings.CutPrefix(s.StatusText, contract.StatusPrefix)
	if step := contract.Step(word); ok && s.MainCode == CLDExited && int(s.MainStatus) == step.ExitStatus() {
		return step
	}
	return ""
}

// Wordless reports whether the main process failed within a second and nothing shows that the
// launcher reached the job's command. The launcher may have reached the command all the same,
// because systemd may have missed a status line.
func (s *Status) Wordless() bool {
	return (s.MainCode == CLDKilled || s.MainCode == CLDDumped || s.MainCode == CLDExited && s.MainStatus != 0) &&
		s.StatusText == "" && !s.Stopped && s.Ended-s.Started < 1_000_000
}

// startFailure returns the Exit of a unit that never became active. If such a unit has an exit
// status, systemd itself set it.
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
	if code == 0 && s.Result == ResultExitCode { // neither the launcher nor a step of systemd ended with a status
		e.Detail = "a program that the site set to run before jobs in gpujob-.service.d failed"
	}
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
