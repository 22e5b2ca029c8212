package job

import (
	"fmt"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// Result is how one attempt ended.
type Result struct {
	Outcome    State         `json:"outcome"` // a terminal state
	ExitCode   int           `json:"exit_code"`
	Signal     int           `json:"signal,omitempty"`
	Launch     contract.Step `json:"launch,omitempty"`
	Errno      int           `json:"errno,omitempty"`
	Detail     string        `json:"detail,omitempty"`   // printable, nothing private
	By         string        `json:"by,omitempty"`       // who cancelled it
	Cause      StopCause     `json:"cause,omitempty"`    // why an attempt was stopped, but by a cancel or its time limit
	For        ID            `json:"for,omitempty"`      // the job it made room for, or whose promised memory it used
	ForName    string        `json:"for_name,omitempty"` // what people call For, where that is not its id
	Limit      time.Duration `json:"limit,omitempty"`    // the time limit it met
	MemBytes   int64         `json:"mem_bytes,omitempty"`
	GPUError   *GPUError     `json:"gpu_error,omitempty"`  // a GPU of it reported this meanwhile
	Left       string        `json:"left,omitempty"`       // what it left behind, for people
	Breach     *Breach       `json:"breach,omitempty"`     // for which it was stopped
	Tries      int           `json:"tries,omitempty"`      // it never began, for a reason that passes, so many times in a row
	Unfiltered bool          `json:"unfiltered,omitempty"` // it ran without the device filter, as the site allows
}

// launchWords finish the sentence "could not start: …".
var launchWords = map[contract.Step]string{
	contract.StepSpec:   "its private instructions could not be made or read",
	contract.StepChdir:  "its working directory could not be entered",
	contract.StepExec:   "its command could not be run",
	contract.StepFilter: "its GPUs could not be opened, or are not fenced off from others",
	contract.StepLimits: "its resource limits could not be set",
	contract.StepUnit:   "systemd refused its unit",
}

// Sentence says for people what happened and, where it helps, what to do next.
func (r Result) Sentence() string {
	if r.Left != "" {
		return r.outcome() + "; " + r.Left
	}
	return r.outcome()
}

func (r Result) outcome() string {
	switch r.Outcome {
	case Completed:
		return "completed: exit code 0"
	case Cancelled:
		return r.cancelled()
	case TimedOut:
		return fmt.Sprintf("stopped at its time limit of %s (ask for more with --time)", FormatDuration(r.Limit))
	case OutOfMemory:
		if r.MemBytes > 0 {
			return fmt.Sprintf("killed for going over its host memory limit of %s (ask for more with --mem)", FormatSize(r.MemBytes))
		}
		return "killed because the host ran out of memory"
	case GPUOutOfMemory:
		return r.Breach.overSentence(r.forName())
	case Lost:
		if r.Tries > 0 {
			return "not started, to be tried again: " + r.Detail
		}
		if r.Cause == StopTaken {
			return "not started, and queued again: " + r.Detail
		}
		return "lost: " + r.Detail
	}
	if r.GPUError != nil && r.Cause != StopGPULost {
		return r.failure() + "; " + r.GPUError.Sentence()
	}
	return r.failure()
}

// forName is what people call the job in For; "" where there is none.
func (r Result) forName() string {
	if r.ForName != "" || r.For == 0 {
		return r.ForName
	}
	return r.For.String()
}

func (r Result) cancelled() string {
	switch {
	case r.Cause == StopPreempt:
		return fmt.Sprintf("stopped to make room for job %s, and queued again", r.forName())
	case r.Cause == StopRequeue:
		return "sent back to the queue by " + r.By
	case r.Cause == StopIdle:
		return r.Breach.idleSentence()
	case r.Cause == StopTrespass:
		return r.Breach.trespassSentence()
	case r.Detail != "":
		return "cancelled: " + r.Detail
	case r.By != "":
		return "cancelled by " + r.By
	}
	return "cancelled"
}

func (r Result) failure() string {
	switch {
	case r.Launch != "":
		text := "could not start: " + launchWords[r.Launch]
		if r.Errno != 0 {
			text += ": " + syscall.Errno(r.Errno).Error()
		}
		if r.Detail != "" {
			text += " (" + r.Detail + ")"
		}
		return text
	case r.Signal != 0:
		return fmt.Sprintf("killed by signal %d (%s)", r.Signal, SignalName(r.Signal))
	case r.Cause == StopGPULost:
		return "stopped since " + r.lostGPU()
	case r.Detail != "":
		return "failed: " + r.Detail
	default:
		return fmt.Sprintf("failed: exit code %d", r.ExitCode)
	}
}

func (r Result) lostGPU() string {
	switch e := r.GPUError; {
	case e == nil:
		return "one of its GPUs was lost"
	case e.Xid == 0:
		return fmt.Sprintf("GPU %d was lost", e.GPU) + inBrackets(e.What)
	default:
		return fmt.Sprintf("GPU %d was lost (%s)", e.GPU, XidText(e.Xid, e.What))
	}
}

// Code is the exit status that 'gpusched wait' and 'run' give for the result:
// the command's own, 128+N for a signal, 124 for the time limit, 125 where the
// command never began, 137 where it was ended for memory of the host or a GPU.
func (r Result) Code() int {
	switch {
	case r.Outcome == TimedOut:
		return 124
	case r.Outcome == OutOfMemory || r.Outcome == GPUOutOfMemory:
		return 128 + int(syscall.SIGKILL)
	case r.Launch != "" || r.Outcome == Lost:
		return 125
	case r.Signal != 0:
		return 128 + r.Signal
	case (r.Outcome == Cancelled || r.Cause == StopGPULost) && r.ExitCode == 0:
		return 128 + int(syscall.SIGTERM)
	}
	return r.ExitCode
}
