package job

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// ReasonCode is one cause of waiting, from a closed list.
type ReasonCode string

// The reasons. Those that concern one GPU carry its index; the others carry
// NoGPU.
const (
	ReasonGPUBusy     ReasonCode = "gpu-busy"      // other jobs hold it, as many as Have; Job and Others are the first of them
	ReasonGPUMemory   ReasonCode = "gpu-memory"    // Need bytes per GPU, Have really free; Detail says what is not known of it
	ReasonGPUPaused   ReasonCode = "gpu-paused"    // an administrator paused it; Detail says why
	ReasonGPUUnknown  ReasonCode = "gpu-unknown"   // no fresh word from the driver
	ReasonGPULost     ReasonCode = "gpu-lost"      // the driver says that it is gone or broken
	ReasonGPUSick     ReasonCode = "gpu-sick"      // out of service since an error; Detail says which and what it needs
	ReasonGPUCleaning ReasonCode = "gpu-cleaning"  // Job left it a moment ago, it is being checked
	ReasonGPUSuspect  ReasonCode = "gpu-suspect"   // Job left it, and something of it is still there
	ReasonGPUExcluded ReasonCode = "gpu-excluded"  // not among --gpu-ids or --gpus-from, or among --exclude-gpus
	ReasonGPUType     ReasonCode = "gpu-type"      // not of --gpu-type; Detail is its model
	ReasonGPUFree     ReasonCode = "gpu-free"      // this one would do; more are needed
	ReasonGPUCount    ReasonCode = "gpu-count"     // Need GPUs at once, Have are available now
	ReasonHostMemory  ReasonCode = "host-memory"   // Need bytes, Have not promised to running jobs; Detail says who has most
	ReasonMaxRunning  ReasonCode = "max-running"   // the site's limit of running jobs, Need = the limit; Detail says who has most
	ReasonNoGPUJobs   ReasonCode = "no-gpu-jobs"   // the running jobs without a GPU have all their places, Need = how many; Detail says who has most
	ReasonNoGPUMemory ReasonCode = "no-gpu-memory" // Need bytes, jobs without a GPU have Have left of theirs; Detail says who has most
	ReasonNoSample    ReasonCode = "starting-up"   // the daemon has not seen the GPUs yet
	ReasonChecking    ReasonCode = "checking"      // its GPUs look free, a fresh sample is to confirm it

	ReasonGPUShare    ReasonCode = "gpu-share"    // Need milli of the GPU, Have free
	ReasonGPUDrained  ReasonCode = "gpu-drained"  // an administrator takes it out of service; Detail says why
	ReasonGPULoad     ReasonCode = "gpu-load"     // busy to Have percent, Need allowed
	ReasonGPUUsed     ReasonCode = "gpu-used"     // Have percent of its memory in use, Need allowed
	ReasonGPUForeign  ReasonCode = "gpu-foreign"  // Foreign has it, or Have bytes are of processes that the driver does not list, and the job asks it whole without a word of memory
	ReasonGPUKept     ReasonCode = "gpu-kept"     // kept for Job, which is before this one
	ReasonGPUReserved ReasonCode = "gpu-reserved" // reserved by an administrator; Detail says for whom and when

	ReasonHeld       ReasonCode = "held"        // Detail says by whom
	ReasonDependency ReasonCode = "dependency"  // Job has to do what Detail says first
	ReasonBegin      ReasonCode = "begin-time"  // not before Detail
	ReasonBackoff    ReasonCode = "back-off"    // after a failure, or Need starts in a row that failed, not before Detail
	ReasonArrayLimit ReasonCode = "array-limit" // Need tasks of its array run, its limit
	ReasonQuotaGPUs  ReasonCode = "quota-gpus"  // Detail has Have milli-GPUs of Need
	ReasonQuotaJobs  ReasonCode = "quota-jobs"  // Detail runs Need jobs, the quota
	ReasonQuotaHours ReasonCode = "quota-hours" // Detail has used Have GPU-hours of Need
	ReasonAccount    ReasonCode = "account"     // its user may run nothing; Detail says why
)

// reasonCodes is the closed list, for the test that the manual names each.
var reasonCodes = []ReasonCode{
	ReasonGPUBusy, ReasonGPUMemory, ReasonGPUPaused, ReasonGPUUnknown, ReasonGPULost, ReasonGPUSick, ReasonGPUCleaning,
	ReasonGPUSuspect, ReasonGPUExcluded, ReasonGPUType, ReasonGPUFree, ReasonGPUCount,
	ReasonHostMemory, ReasonMaxRunning, ReasonNoGPUJobs, ReasonNoGPUMemory, ReasonNoSample, ReasonChecking,
	ReasonGPUShare, ReasonGPUDrained, ReasonGPULoad, ReasonGPUUsed, ReasonGPUForeign, ReasonGPUKept, ReasonGPUReserved,
	ReasonHeld, ReasonDependency, ReasonBegin, ReasonBackoff, ReasonArrayLimit,
	ReasonQuotaGPUs, ReasonQuotaJobs, ReasonQuotaHours, ReasonAccount,
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
	Others []ID       `json:"others,omitempty"` // beside Job
	Names  []string   `json:"names,omitempty"`  // what people call Job and then Others; nil: by their ids
	Need   int64      `json:"need,omitempty"`
	Have   int64      `json:"have,omitempty"`
	Detail string     `json:"detail,omitempty"`

	Foreign []Foreign `json:"foreign,omitempty"` // who has memory of the GPU without a job, the most first
}

// Foreign is a process of no job that is on a GPU.
type Foreign struct {
	PID   int    `json:"pid"`
	UID   int    `json:"uid"`            // -1: unknown
	User  string `json:"user,omitempty"` // "" unknown
	Bytes int64  `json:"bytes"`          // -1: unknown
}

// MaxForeign is how many processes of no job a reason names.
const MaxForeign = 3

// Besides names the processes of no job that have a part in a reason, after a
// semicolon; "" where there is none.
func (r Reason) Besides() string {
	if len(r.Foreign) == 0 {
		return ""
	}
	return "; outside of any job " + r.foreign()
}

// foreign names the processes of no job.
func (r Reason) foreign() string {
	var parts []string
	for _, f := range r.Foreign {
		who := "process " + strconv.Itoa(f.PID)
		switch {
		case f.User != "":
			who += " of " + f.User
		case f.UID >= 0:
			who += " of uid " + strconv.Itoa(f.UID)
		}
		if f.Bytes >= 0 {
			who += " has " + FormatSize(f.Bytes)
		} else {
			who += " has some"
		}
		parts = append(parts, who)
	}
	return strings.Join(parts, ", ")
}

// outsiders says who has a GPU without a job.
func (r Reason) outsiders() string {
	var parts []string
	if who := r.foreign(); who != "" {
		parts = append(parts, who)
	}
	if r.Have > 0 {
		parts = append(parts, FormatSize(r.Have)+" in use by processes that the driver does not list")
	}
	return cmp.Or(strings.Join(parts, ", "), "the driver does not say by whom")
}

// Sentence says the reason for people, without the GPU's number.
func (r Reason) Sentence() string {
	switch r.Code {
	case ReasonGPUBusy:
		return "held by " + r.holders() + inBrackets(r.Detail)
	case ReasonGPUMemory:
		return fmt.Sprintf("%s of its memory is really free, %s needed", FormatSize(r.Have), FormatSize(r.Need)) + inBrackets(r.Detail) + r.Besides()
	case ReasonGPUPaused:
		return "paused by an administrator" + inBrackets(r.Detail)
	case ReasonGPUUnknown:
		return "its state is unknown: " + cmp.Or(r.Detail, "the driver does not answer")
	case ReasonGPULost:
		return "the driver reports it as lost or broken" + inBrackets(r.Detail)
	case ReasonGPUSick:
		return "out of service" + inBrackets(r.Detail)
	case ReasonGPUCleaning:
		return "being checked after " + r.leftBy()
	case ReasonGPUSuspect:
		return "something of " + r.leftBy() + " is still on it" + inBrackets(r.Detail)
	case ReasonGPUExcluded:
		return "not among the GPUs the job may use"
	case ReasonGPUType:
		return "another model" + inBrackets(r.Detail)
	case ReasonGPUFree:
		return "free"
	case ReasonGPUShare:
		return fmt.Sprintf("%s of it is free, %s needed", FormatGPUs(int(r.Have)), FormatGPUs(int(r.Need)))
	case ReasonGPUDrained:
		return "drained by an administrator" + inBrackets(r.Detail)
	case ReasonGPULoad:
		return fmt.Sprintf("busy to %d %%, at most %d %% allowed", r.Have, r.Need) + r.Besides()
	case ReasonGPUUsed:
		return fmt.Sprintf("%d %% of its memory is in use, at most %d %% allowed", r.Have, r.Need) + r.Besides()
	case ReasonGPUForeign:
		return "used outside of any job: " + r.outsiders()
	case ReasonGPUKept:
		return fmt.Sprintf("kept for job %s, which is before this one", r.jobName())
	case ReasonGPUReserved:
		return "reserved" + inBrackets(r.Detail)
	}
	return r.machineSentence()
}

// JobNames are what people call Job and Others; nil where there is no job.
func (r Reason) JobNames() []string {
	if r.Names != nil || r.Job == 0 {
		return r.Names
	}
	names := []string{r.Job.String()}
	for _, id := range r.Others {
		names = append(names, id.String())
	}
	return names
}

// jobName is what people call Job.
func (r Reason) jobName() string {
	if names := r.JobNames(); names != nil {
		return names[0]
	}
	return r.Job.String()
}

// MaxHolders is how many of the jobs on a GPU a reason names.
const MaxHolders = 3

// holders names the jobs that hold a GPU, and how many there are beside these.
func (r Reason) holders() string {
	names := r.JobNames()
	if len(names) < 2 {
		return "job " + r.jobName()
	}
	text := "jobs " + names[0]
	more := int(r.Have) - len(names)
	for i, name := range names[1:] {
		if i == len(names)-2 && more <= 0 {
			text += " and " + name
		} else {
			text += ", " + name
		}
	}
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (r Reason) machineSentence() string {
	switch r.Code {
	case ReasonGPUCount:
		return fmt.Sprintf("needs %d GPUs, %d available now", r.Need, r.Have)
	case ReasonHostMemory:
		return fmt.Sprintf("needs %s of host memory, %s is not promised to running jobs%s", FormatSize(r.Need), FormatSize(r.Have), r.most())
	case ReasonMaxRunning:
		if r.Need == 1 {
			return "1 job is running, the site allows no more at once" + r.most()
		}
		return fmt.Sprintf("%d jobs are running, the site allows no more at once%s", r.Need, r.most())
	case ReasonNoGPUJobs:
		return fmt.Sprintf("jobs without a GPU have all places that they may have here, %d%s", r.Need, r.most())
	case ReasonNoGPUMemory:
		return fmt.Sprintf("needs %s of host memory, %s is left of what jobs without a GPU may have%s", FormatSize(r.Need), FormatSize(r.Have), r.most())
	case ReasonNoSample:
		return "the scheduler has just started and has not seen the GPUs yet"
	case ReasonChecking:
		return "its GPUs look free, which a fresh sample is confirming"
	}
	return r.lifeSentence()
}

// lifeSentence is for reasons that lie with the job or its owner.
func (r Reason) lifeSentence() string {
	switch r.Code {
	case ReasonHeld:
		return "held by " + r.Detail
	case ReasonDependency:
		return fmt.Sprintf("waits until job %s %s", r.jobName(), r.Detail)
	case ReasonBegin:
		return "not to begin before " + r.Detail
	case ReasonBackoff:
		switch {
		case r.Need > 1:
			return fmt.Sprintf("could not be started %d times in a row, and is tried again at %s", r.Need, r.Detail)
		case r.Need == 1:
			return "could not be started, and is tried again at " + r.Detail
		}
		return "failed, and tries again at " + r.Detail
	case ReasonArrayLimit:
		if r.Need == 1 {
			return "1 task of the array is running, its limit"
		}
		return fmt.Sprintf("%d tasks of the array are running, its limit", r.Need)
	case ReasonQuotaGPUs:
		return fmt.Sprintf("%s has %s of %s GPUs, the quota", r.Detail, FormatGPUs(int(r.Have)), FormatGPUs(int(r.Need)))
	case ReasonQuotaJobs:
		return fmt.Sprintf("%s has %d jobs running, the quota", r.Detail, r.Need)
	case ReasonQuotaHours:
		return fmt.Sprintf("%s has used %d GPU-hours lately, the quota is %d", r.Detail, r.Have, r.Need)
	case ReasonAccount:
		return "its user may start nothing: " + r.Detail
	}
	return string(r.Code)
}

// most says who has most of what there is too little of.
func (r Reason) most() string {
	if r.Detail == "" {
		return ""
	}
	return " (" + r.Detail + ")"
}

// leftBy names the job that left something on a GPU.
func (r Reason) leftBy() string {
	if r.Job == 0 {
		return "an earlier job"
	}
	return "job " + r.jobName()
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}
