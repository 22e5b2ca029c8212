package job

import "fmt"

// ReasonCode is one cause of waiting, from a closed list.
type ReasonCode string

// The reasons. Those that concern one GPU carry its index; the others carry
// NoGPU.
const (
	ReasonGPUBusy     ReasonCode = "gpu-busy"     // another job holds it; Job says which
	ReasonGPUMemory   ReasonCode = "gpu-memory"   // Need bytes per GPU, Have really free
	ReasonGPUPaused   ReasonCode = "gpu-paused"   // an administrator paused it; Detail says why
	ReasonGPUUnknown  ReasonCode = "gpu-unknown"  // no fresh word from the driver
	ReasonGPULost     ReasonCode = "gpu-lost"     // the driver says that it is gone or broken
	ReasonGPUCleaning ReasonCode = "gpu-cleaning" // Job left it a moment ago, it is being checked
	ReasonGPUSuspect  ReasonCode = "gpu-suspect"  // Job left it, and something of it is still there
	ReasonGPUExcluded ReasonCode = "gpu-excluded" // not among --gpu-ids or --gpus-from
	ReasonGPUType     ReasonCode = "gpu-type"     // not of --gpu-type; Detail is its model
	ReasonGPUFree     ReasonCode = "gpu-free"     // this one would do; more are needed
	ReasonGPUCount    ReasonCode = "gpu-count"    // Need GPUs at once, Have would do now
	ReasonHostMemory  ReasonCode = "host-memory"  // Need bytes, Have not promised to running jobs
	ReasonMaxRunning  ReasonCode = "max-running"  // the site's limit of running jobs, Need = the limit
	ReasonNoSample    ReasonCode = "starting-up"  // the daemon has not seen the GPUs yet
	ReasonChecking    ReasonCode = "checking"     // it fits by the last look at the GPUs, a fresh one is under way
)

// reasonCodes is the closed list, for the test that the manual names each.
var reasonCodes = []ReasonCode{
	ReasonGPUBusy, ReasonGPUMemory, ReasonGPUPaused, ReasonGPUUnknown, ReasonGPULost, ReasonGPUCleaning,
	ReasonGPUSuspect, ReasonGPUExcluded, ReasonGPUType, ReasonGPUFree, ReasonGPUCount,
	ReasonHostMemory, ReasonMaxRunning, ReasonNoSample, ReasonChecking,
}

// ReasonCodes returns every code a Reason may have.
func ReasonCodes() []ReasonCode { return append([]ReasonCode(nil), reasonCodes...) }

// NoGPU is the GPU of a reason that concerns the whole machine.
const NoGPU = -1

// Reason is one cause for which a job waits.
type Reason struct {
	Code   ReasonCode `json:"code"`
	GPU    int        `json:"gpu"` // physical index, or NoGPU
	Job    ID         `json:"job,omitempty"`
	Need   int64      `json:"need,omitempty"`
	Have   int64      `json:"have,omitempty"`
	Detail string     `json:"detail,omitempty"`
}

// Sentence says the reason for people, without the GPU's number.
func (r Reason) Sentence() string {
	switch r.Code {
	case ReasonGPUBusy:
		return fmt.Sprintf("held by job %d", r.Job)
	case ReasonGPUMemory:
		return fmt.Sprintf("%s of its memory is really free, %s needed", FormatSize(r.Have), FormatSize(r.Need))
	case ReasonGPUPaused:
		return "paused by an administrator" + inBrackets(r.Detail)
	case ReasonGPUUnknown:
		return "its state is unknown: the driver does not answer" + inBrackets(r.Detail)
	case ReasonGPULost:
		return "the driver reports it as lost or broken" + inBrackets(r.Detail)
	case ReasonGPUCleaning:
		return fmt.Sprintf("being checked after job %d", r.Job)
	case ReasonGPUSuspect:
		return fmt.Sprintf("something of job %d is still on it%s", r.Job, inBrackets(r.Detail))
	case ReasonGPUExcluded:
		return "not among the GPUs the job may use"
	case ReasonGPUType:
		return "another model" + inBrackets(r.Detail)
	case ReasonGPUFree:
		return "free"
	}
	return r.machineSentence()
}

func (r Reason) machineSentence() string {
	switch r.Code {
	case ReasonGPUCount:
		return fmt.Sprintf("needs %d GPUs at once, %d would do now", r.Need, r.Have)
	case ReasonHostMemory:
		return fmt.Sprintf("needs %s of host memory, %s is not promised to running jobs", FormatSize(r.Need), FormatSize(r.Have))
	case ReasonMaxRunning:
		if r.Need == 1 {
			return "1 job is running, the site allows no more at once"
		}
		return fmt.Sprintf("%d jobs are running, the site allows no more at once", r.Need)
	case ReasonNoSample:
		return "the scheduler has just started and has not seen the GPUs yet"
	case ReasonChecking:
		return "it fits by the last look at the GPUs, which is being checked by a fresh one"
	}
	return string(r.Code)
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}
