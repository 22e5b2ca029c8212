package job

import (
	"syscall"

	"github.com/gpusched/gpusched/units/contract"
)

// ShownResult is a result, with what the server adds for clients.
type ShownResult struct {
	Result
	Code     int     `json:"code"` // the exit status of 'gpusched wait'
	Sentence string  `json:"sentence"`
	Said     Message `json:"said,omitzero"` // the result in the words of another scheduler
}

// Result is how one attempt ended. Its Cause is empty for a cancel, and for a job that was stopped
// at its time limit. The Cause StopTime means that the command exited after the warning of its time
// limit.
type Result struct {
	Outcome    State         `json:"outcome"` // a terminal state
	ExitCode   int           `json:"exit_code"`
	Signal     int           `json:"signal,omitempty"`
	Launch     contract.Step `json:"launch,omitempty"`
	Errno      int           `json:"errno,omitempty"`
	Detail     Message       `json:"detail,omitzero"`         // printable text without anything private
	By         string        `json:"by,omitempty"`            // who cancelled it
	Cause      StopCause     `json:"cause,omitempty"`         // why it was stopped
	For        ID            `json:"for,omitempty"`           // the job that preempted it, or whose memory it used
	ForName    string        `json:"for_name,omitempty"`      // name of that job for people, unless it is the id
	Limit      Span          `json:"limit_seconds,omitempty"` // the time limit that it reached
	MemBytes   int64         `json:"mem_bytes,omitempty"`     // its memory limit, if it was killed for memory
	PeakBytes  int64         `json:"peak_bytes,omitempty"`    // the most memory that it used then; 0: unknown
	GPUError   *GPUError     `json:"gpu_error,omitempty"`     // an error of one of its GPUs during the attempt
	Left       Message       `json:"left,omitzero"`           // what it left behind, for people
	Breach     *Breach       `json:"breach,omitempty"`        // its use of a GPU for which it was stopped
	Tries      int           `json:"tries,omitempty"`         // starts in a row that failed for a temporary cause
	Unfiltered bool          `json:"unfiltered,omitempty"`    // it ran without the device filter, which the site allows
}

// When the kernel kills a job because of its memory limit, the job has used at least this part of
// the limit. The part is below 1 because the kernel charges memory in batches, and refuses the last
// batch.
const reached = 15. / 16

// MemoryReached reports whether a job used so much memory that the limit may have ended it.
func MemoryReached(used, limit int64) bool {
	return limit > 0 && float64(used) >= reached*float64(limit)
}

// Code returns the exit status of a job that has ended: that of its result, or 125 if it was
// cancelled before it began. An array counts as begun when its first task began.
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

// Code returns the exit status of 'gpusched wait' and 'run' for the result. It is the command's own
// status, 128+N for a signal, 124 for the time limit, and 137 if the job was killed for memory of
// the host or a GPU. If the command never began, it is 125 or, as in a shell, 127 if the command
// was not found and 126 if it could not be run.
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

// FinalResult combines how the command ended with the reason why the job was told to stop.
func (j *Job) FinalResult() Result {
	r := Result{Outcome: Lost, Detail: Say("detail/unknown-end")}
	if j.Attempt.Result != nil {
		r = *j.Attempt.Result
		if r.Outcome != Lost {
			return r // the job ended by itself before it was stopped
		}
	}
	switch j.Stop {
	case StopCancel:
		return Result{Outcome: Cancelled, By: j.StopBy, MemBytes: r.MemBytes}
	case StopTime:
		return Result{Outcome: TimedOut, Limit: j.Request.TimeLimit}
	case StopGPUMem:
		return Result{Outcome: GPUOutOfMemory, Cause: j.Stop, For: j.StopFor, Breach: j.Breach}
	case StopIdle, StopTrespass:
		return Result{Outcome: Cancelled, Cause: j.Stop, Breach: j.Breach}
	case StopGPULost:
		return Result{Outcome: Failed, Cause: j.Stop}
	case StopPark:
		return Result{Outcome: Failed, Cause: j.Stop, Detail: j.StopWhy}
	case StopRequeue, StopPreempt:
		return Result{
			Outcome: Cancelled, Cause: j.Stop, By: j.StopBy, For: j.StopFor, MemBytes: r.MemBytes, Tries: r.Tries,
		}
	}
	return r
}

// LeftRunning says how many processes a command left running. They ended together with the unit.
func LeftRunning(n int) Message {
	switch n {
	case 0:
		return Message{}
	case 1:
		return Say("detail/left-one")
	}
	return Say("detail/left-running", n)
}
