package job

import (
	"syscall"

	"github.com/gpusched/gpusched/units/contract"
)

// ShownResult is a result with what the server adds for clients.
type ShownResult struct {
	Result
	Code     int     `json:"code"` // the exit status that 'gpusched wait' gives
	Sentence string  `json:"sentence"`
	Said     Message `json:"said,omitzero"` // in another scheduler's words
}

// Result is how one attempt ended.
type Result struct {
	Outcome    State         `json:"outcome"` // a terminal state
	ExitCode   int           `json:"exit_code"`
	Signal     int           `json:"signal,omitempty"`
	Launch     contract.Step `json:"launch,omitempty"`
	Errno      int           `json:"errno,omitempty"`
	Detail     Message       `json:"detail,omitzero"`         // printable, nothing private
	By         string        `json:"by,omitempty"`            // who cancelled it
	Cause      StopCause     `json:"cause,omitempty"`         // why an attempt was stopped, but by a cancel or its limit; that: warned, it left
	For        ID            `json:"for,omitempty"`           // the job it made room for, or whose promised memory it used
	ForName    string        `json:"for_name,omitempty"`      // what people call For, where that is not its id
	Limit      Span          `json:"limit_seconds,omitempty"` // the time limit it met
	MemBytes   int64         `json:"mem_bytes,omitempty"`     // its memory limit, where it was killed for memory, maybe while it was being stopped
	PeakBytes  int64         `json:"peak_bytes,omitempty"`    // its highest use then; 0: unknown
	GPUError   *GPUError     `json:"gpu_error,omitempty"`     // a GPU of it reported this meanwhile
	Left       Message       `json:"left,omitzero"`           // what it left behind, for people
	Breach     *Breach       `json:"breach,omitempty"`        // for which it was stopped
	Tries      int           `json:"tries,omitempty"`         // it never began, for a reason that passes, so many times in a row
	Unfiltered bool          `json:"unfiltered,omitempty"`    // it ran without the device filter, as the site allows
}

// reached is the part of its limit that a job which the kernel killed for that limit has
// certainly used: the kernel charges memory in batches, the last of which is refused.
const reached = 15. / 16

// MemoryReached reports whether a use of memory is what a limit ends.
func MemoryReached(used, limit int64) bool {
	return limit > 0 && float64(used) >= reached*float64(limit)
}

// Code is the exit status of a job that has ended: that of its result, but 125 where it was cancelled before it began.
// An array begins with its first task.
func (j *Job) Code() int {
	began := j.Attempt != nil && !j.Attempt.StartedAt.IsZero()
	if j.Request.Array != nil && j.Task == nil {
		began = j.Tasks != nil && j.Tasks.Became() > 0
	}
	if j.Result.Outcome == Cancelled && !began {
		return 125
	}
	return j.Result.Code()
}

// Code is the exit status that 'gpusched wait' and 'run' give for the result:
// the command's own, 128+N for a signal, 124 for the time limit, 125 where the
// command never began (as of a shell 127 where it was not there, 126 where it could
// not be run), 137 where it was ended for memory of the host or a GPU.
func (r Result) Code() int {
	switch {
	case r.Outcome == TimedOut:
		return 124
	case r.Outcome == OutOfMemory || r.Outcome == GPUOutOfMemory:
		return 128 + int(syscall.SIGKILL)
	case r.Launch == contract.StepExec && syscall.Errno(r.Errno) == syscall.ENOENT:
		return 127
	case r.Launch == contract.StepExec && r.Errno != 0:
		return 126
	case r.Launch != "" || r.Outcome == Lost:
		return 125
	case r.Signal != 0:
		return 128 + r.Signal
	case (r.Outcome == Cancelled || r.Cause == StopGPULost) && r.ExitCode == 0:
		return 128 + int(syscall.SIGTERM)
	}
	return r.ExitCode
}
