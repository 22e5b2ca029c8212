package job

import (
	"slices"
	"syscall"

	"github.com/gpusched/gpusched/units/contract"
)

// These errors mean that a file system is temporarily unavailable.
var away = []syscall.Errno{
	syscall.EIO, syscall.ESTALE, syscall.ENOTCONN, syscall.ETIMEDOUT, syscall.EHOSTDOWN, syscall.EHOSTUNREACH,
	syscall.ENETUNREACH, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EREMOTEIO, syscall.ENODEV, syscall.ENXIO,
	syscall.ENFILE, syscall.EKEYEXPIRED, syscall.ENOKEY,
}

// OfMachine reports whether a launch failed for a reason that the job did not choose. Another try
// may then succeed.
func (r *Result) OfMachine() bool {
	switch r.Launch {
	case contract.StepSpec, contract.StepFilter, contract.StepLimits, contract.StepAway, contract.StepUnit,
		contract.StepEngine:
		return true
	case contract.StepChdir, contract.StepExec, contract.StepShell:
		return slices.Contains(away, syscall.Errno(r.Errno))
	}
	return false
}

// launchCodes has the message for each step at which a launch can fail.
var launchCodes = map[contract.Step]Code{
	contract.StepSpec: "detail/launch-spec", contract.StepChdir: "detail/launch-chdir", contract.StepExec: "detail/launch-exec",
	contract.StepFilter: "detail/launch-filter", contract.StepLimits: "detail/launch-limits", contract.StepSetup: "detail/launch-setup",
	contract.StepShell: "detail/launch-shell", contract.StepAway: "detail/launch-away", contract.StepUnit: "detail/launch-unit",
	contract.StepContainer: "detail/launch-engine", contract.StepScratch: "detail/launch-scratch",
	contract.StepEngine: "detail/launch-docker",
}

// StartFailure returns the reason why the launch failed.
func (r *Result) StartFailure() Message {
	what := Say(launchCodes[r.Launch])
	switch {
	case !r.Detail.IsZero():
		return r.Detail
	case r.Errno != 0:
		return Say("detail/launch-errno", what, syscall.Errno(r.Errno).Error())
	}
	return what
}
