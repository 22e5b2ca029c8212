package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Result returns how an attempt ended, and what to do next if there is any advice.
func Result(r *job.Result) string {
	state, more := outcome(r)
	return state + more + left(r)
}

// How returns the same as Result, in a form for a line that also shows the state. It returns "" if
// the state says everything.
func How(r *job.Result) string {
	state, more := outcome(r)
	if state != "" {
		more = strings.TrimPrefix(strings.TrimPrefix(more, ":"), " ")
	}
	if text := more + left(r); r.Outcome != job.Completed || text != "exit code 0" {
		return text
	}
	return ""
}

func ending(r *job.Result) string {
	state, more := outcome(r)
	if rest, divided := strings.CutPrefix(more, ": "); divided {
		return rest + left(r)
	}
	return state + more + left(r)
}

func left(r *job.Result) string {
	if r.Left.IsZero() {
		return ""
	}
	return "; " + Say(r.Left)
}

// outcome returns how an attempt ended, in two parts. The first part is the attempt's state; it is
// empty if the sentence does not begin with the state. The second part is the rest of the sentence.
func outcome(r *job.Result) (state, rest string) {
	switch r.Outcome {
	case job.Completed:
		return "completed", ": " + cmp.Or(Say(r.Detail), "exit code 0")
	case job.Cancelled:
		state, rest = cancelled(r)
		if r.MemBytes != 0 {
			rest += "; it ran out of memory while it was being stopped (its limit is " + job.FormatSize(r.MemBytes) + ")"
		}
		return state, rest
	case job.TimedOut:
		return "", fmt.Sprintf("stopped at its time limit of %s (ask for more with --time)", r.Limit)
	case job.OutOfMemory:
		return "", outOfMemory(r)
	case job.GPUOutOfMemory:
		return "", overBudget(r)
	case job.Lost:
		switch {
		case r.Cause == job.StopTaken:
			return "", "not started, and queued again: " + Say(r.Detail)
		case r.Tries > 0:
			return "", "not started, will be tried again: " + Say(r.Detail)
		}
		return "lost", ": " + Say(r.Detail)
	}
	state, rest = failure(r)
	if r.GPUError != nil && r.Cause != job.StopGPULost {
		rest += "; " + GPUError(*r.GPUError)
	}
	return state, rest
}

// outOfMemory returns why a job ran out of memory. It blames the job's own limit only if the job is
// known to have reached that limit. The kernel also kills processes if a limit for several jobs is
// reached or the machine is full, and systemd-oomd kills processes because of memory pressure.
func outOfMemory(r *job.Result) string {
	limit := job.FormatSize(r.MemBytes)
	own := "killed for going over its host memory limit of " + limit + " (ask for more with --mem)"
	switch {
	case r.MemBytes == 0:
		return "killed because the host ran out of memory"
	case r.PeakBytes == 0:
		return own + ", or because the host ran out of memory"
	case job.MemoryReached(r.PeakBytes, r.MemBytes):
		return own
	}
	return "killed because the host ran out of memory, or jobs together reached a limit: this one used at most " +
		job.FormatSize(r.PeakBytes) + " of its " + limit
}

// exitText returns how a command ended by itself.
func exitText(r *job.Result) string {
	if r.Signal != 0 {
		return fmt.Sprintf("killed by signal %d (%s)", r.Signal, job.SignalName(r.Signal))
	}
	return fmt.Sprintf("exit code %d", r.ExitCode)
}

// forName returns the name of the job in r.For, or "".
func forName(r *job.Result) string {
	if r.ForName != "" || r.For == 0 {
		return r.ForName
	}
	return r.For.String()
}

func cancelled(r *job.Result) (state, rest string) {
	switch {
	case r.Cause == job.StopPreempt && r.For == 0:
		return "", "stopped because the machine was to reboot, and queued again"
	case r.Cause == job.StopPreempt:
		return "", fmt.Sprintf("stopped to make room for job %s, and queued again", forName(r))
	case r.Cause == job.StopRequeue:
		return "", "sent back to the queue by " + r.By
	case r.Cause == job.StopIdle && r.Breach == nil:
		rest = " by the site: it did not use its GPUs"
	case r.Cause == job.StopIdle:
		rest = " by the site: it had not used its GPUs for " + job.FormatDuration(r.Breach.Idle.Duration().Round(time.Second))
	case r.Cause == job.StopTrespass && r.Breach == nil: // no job can open it, so the job was given an open file
		rest = " by the site: it used a GPU that it does not have"
	case r.Cause == job.StopTrespass:
		rest = fmt.Sprintf(" by the site: it used GPU %d, which it does not have", r.Breach.GPU)
	case !r.Detail.IsZero():
		rest = ": " + Say(r.Detail)
	case r.By != "":
		rest = " by " + r.By
	}
	return "cancelled", rest
}

// overBudget returns why a job that exceeded its budget was stopped.
func overBudget(r *job.Result) string {
	b := r.Breach
	if b == nil {
		return fmt.Sprintf("stopped for using GPU memory that job %s was promised (ask for more with --gpu-mem)", forName(r))
	}
	return fmt.Sprintf("stopped for using %s, when job %s was short of its own (ask for more with --gpu-mem)",
		excessText(b.GPU, job.Size(b.UsedBytes), job.Size(b.BudgetBytes)), forName(r))
}

// excessText returns by how much a job exceeds its budget.
func excessText(gpu int, used, budget job.Size) string {
	return fmt.Sprintf("%s of the memory of GPU %d, %s more than the %s it was promised", used, gpu, used-budget, budget)
}

func failure(r *job.Result) (state, rest string) {
	switch {
	case r.Detail.Code == "detail/blamed":
		plain := *r
		plain.Detail = job.Message{}
		state, rest = failure(&plain)
		return state, rest + "; " + Say(r.Detail)
	case r.Launch != "":
		step := *r
		step.Detail = job.Message{}
		return "", "could not start: " + Say(step.StartFailure()) + inBrackets(Say(r.Detail))
	case r.Cause == job.StopTime:
		return "", fmt.Sprintf("exited after the warning before its time limit of %s: %s", r.Limit, exitText(r))
	case !r.Detail.IsZero() && r.Cause != job.StopGPULost:
		return "failed", ": " + Say(r.Detail)
	case r.Signal != 0:
		return "", exitText(r)
	case r.Cause == job.StopPark:
		return "", "stopped because it lost its GPU memory while it was parked"
	case r.Cause == job.StopGPULost && r.GPUError == nil:
		return "", "stopped because one of its GPUs was lost"
	case r.Cause == job.StopGPULost && r.GPUError.Xid == 0:
		return "", "stopped because " + GPUError(*r.GPUError)
	case r.Cause == job.StopGPULost:
		return "", fmt.Sprintf("stopped because GPU %d was lost (%s)", r.GPUError.GPU, xid(r.GPUError))
	}
	return "failed", fmt.Sprintf(": exit code %d", r.ExitCode) + inBrackets(shellWords(r.ExitCode))
}

// This table lists the signals that shells report most often.
var fatal = []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGBUS}

// shellWords returns the meaning that shells give to an exit code. If the meaning depends on the
// program, it returns "".
func shellWords(code int) string {
	switch {
	case code == 126:
		return "in a shell: a command cannot be executed"
	case code == 127:
		return "in a shell: a command was not found"
	case slices.Contains(fatal, syscall.Signal(code-128)):
		return "in a shell: " + job.SignalName(code-128) + " ended a command"
	}
	return ""
}

// GPUError returns what a GPU reported while the job had it.
func GPUError(e job.GPUError) string {
	if e.Xid == 0 {
		return fmt.Sprintf("GPU %d was lost", e.GPU) + inBrackets(Say(e.What))
	}
	return fmt.Sprintf("GPU %d reported %s", e.GPU, xid(&e))
}

// xid returns the number of an Xid, with its meaning if known.
func xid(e *job.GPUError) string { return fmt.Sprintf("Xid %d", e.Xid) + inBrackets(Say(e.What)) }

// Warning returns what is wrong with a running job. Callers put the text after "the job".
func Warning(w job.Warning) string {
	if w.Code == job.WarningMemory {
		return "uses " + excessText(w.GPU, w.Used, w.Promised)
	}
	return fmt.Sprintf("has not used GPU %d for %s", w.GPU, job.FormatDuration(w.Idle.Duration().Round(time.Second)))
}
