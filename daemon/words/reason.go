package words

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// concern says what a reason for waiting is about.
type concern int

const (
	own     concern = iota // the job or its owner; such a reason makes reasons about GPUs unimportant
	quota                  // a quota; reasons about GPUs are more important if there are too few GPUs
	machine                // the whole machine
	someGPU                // a GPU
	aside                  // a GPU that is fine, or on which the job can never run
)

// reason has the texts for one reason code.
type reason struct {
	code           job.ReasonCode
	about          concern
	alone, on, all string
}

// reasons has the texts for each reason code. The field "alone" has the whole sentence. The field
// "on" has the text after "GPU 0" in a line. If it is empty, "is" and the sentence follow. The
// field "all" has the text after "GPUs 0,1". If it is empty, "are" and the code follow. The names
// in braces are parts of a job.Reason. The function value formats them.
//
// If there are several reasons about the job itself, the first in this list is shown. The reasons
// about GPUs are sorted by how soon they pass. A reservation is first, because it keeps a job from
// a GPU that looks free. Then come the reasons that end soon by themselves, those that a person
// must end, and those that nobody can end.
var reasons = []reason{
	{job.ReasonAccount, own, "no job of its user starts: {text}", "", ""},
	{job.ReasonTurn, own, "waits to be started: systemd is starting other jobs", "", ""},
	{job.ReasonGone, own, "account {text}", "", ""},
	{job.ReasonTooMuch, own, "at present it {text}", "", ""},
	{job.ReasonHeld, own, "held by {text}", "", ""},
	{job.ReasonDependency, own, "waits until job {job} {text}", "", ""},
	{job.ReasonBegin, own, "not to begin before {text}", "", ""},
	{job.ReasonBackoff, own, "{failed} again at {text}", "", ""},
	{job.ReasonFailures, own, "{have task} of the array failed, its limit is {need}: no more start until it is released", "", ""},
	{job.ReasonStarts, own, "no job starts: {text}", "", ""},
	{job.ReasonArrayLimit, own, "{need task} of the array {are} running, as many as its limit allows", "", ""},
	{job.ReasonLane, own, "its limit for lane {text} is {need job} at once, and {holders} {left} in it", "", ""},
	{job.ReasonSiteLane, own, "the site's limit for lane {text} is {need job} at once, and {holders} {left} in it", "", ""},
	{job.ReasonLaneKept, own, "job {job} is ahead and needs the next place in their lane", "", ""},
	{job.ReasonQuotaJobs, quota, "{text} has {need job} running, as many as the quota allows", "", ""},
	{job.ReasonQuotaGPUs, quota, "quota: needs {need wish}, {text}", "", ""},
	{job.ReasonQuotaMem, quota, "quota: needs {need bytes} of host memory, {text}", "", ""},
	{job.ReasonQuotaCPUs, quota, "quota: needs {need CPU}, {text}", "", ""},
	{job.ReasonQuotaKept, quota, "job {job} is ahead and needs the rest of {text}'s quota", "", ""},
	{job.ReasonQuotaHours, quota, "{text} has used {have GPU-hour} lately, the quota is {need}", "", ""},

	{job.ReasonDrained, machine, "no new job starts: {text}", "", ""},
	{job.ReasonShutdown, machine, "may still run when {text}", "", ""},
	{job.ReasonNoSample, machine, "the scheduler has just started and has not seen the GPUs yet", "", ""},
	{job.ReasonChecking, machine, "checking once more that its GPUs are free before it starts", "", ""},
	{job.ReasonGPUCount, machine, "needs {need GPU}, {have} available now", "", ""},
	{job.ReasonHostMemory, machine, "needs {need bytes} of host memory, {have bytes} is free{detail}", "", ""},
	{job.ReasonHostCPUs, machine, "needs {need CPU}, {have} {left} free{detail}", "", ""},
	{job.ReasonMaxRunning, machine, "{need job} {are} running, the site allows no more at once{detail}", "", ""},
	{job.ReasonNoGPUJobs, machine, "jobs without a GPU take {need place}, all that they may have here{detail}", "", ""},
	{job.ReasonNoGPUMemory, machine,
		"needs {need bytes} of host memory, {have bytes} is left of what jobs without a GPU may have{detail}", "", ""},
	{job.ReasonNoGPUCPUs, machine, "needs {need CPU}, {have} {left} left of what jobs without a GPU may have{detail}", "", ""},

	{job.ReasonGPUReserved, someGPU, "reserved{detail}", "", "are reserved{detail}"},
	{job.ReasonGPUCleaning, someGPU, "being checked {after}", "", "are being checked"},
	{job.ReasonGPUKept, someGPU, "kept for job {job}, which is ahead of this one", "", "are kept for {jobs}, ahead of this one"},
	{job.ReasonGPUBusy, someGPU, "held by {holders}{detail}", "", "are held by {jobs}"},
	{job.ReasonGPUMPS, someGPU, "shared with MPS by {holders}, and by no other jobs", "is shared with MPS by {holders}, and by no other jobs",
		"are shared with MPS by {jobs}"},
	{job.ReasonGPUShare, someGPU, "{have GPUs} of it is free, {need GPUs} needed",
		"has {have GPUs} free, {need GPUs} needed", "have too little free, {need GPUs} needed"},
	{job.ReasonGPUMemory, someGPU, "{have bytes} of its memory is actually free, {need bytes} needed{detail}{besides}",
		"has {have bytes} free, {need bytes} needed{detail}{besides}", "have too little free memory, {need bytes} needed"},
	{job.ReasonGPUUsed, someGPU, "{have} % of its memory is in use, at most {need} % allowed{besides}",
		"has {have} % of its memory in use, at most {need} % allowed{besides}", "have more than {need} % of their memory in use"},
	{job.ReasonGPULoad, someGPU, "busy to {have} %, at most {need} % allowed{besides}", "", "are busy to more than {need} %"},
	{job.ReasonGPUForeign, someGPU, "in use outside gpusched: {outsiders}", "", "are in use outside gpusched"},
	{job.ReasonGPUSuspect, someGPU, "{suspect}", "is suspect: {alone}", ""},
	{job.ReasonGPUPaused, someGPU, "paused by an administrator{detail}", "", ""},
	{job.ReasonGPUDrained, someGPU, "drained by an administrator{detail}", "", ""},
	{job.ReasonGPUSick, someGPU, "out of service{detail}", "", "are out of service"},
	{job.ReasonGPUUnknown, someGPU, "its state is unknown: {unknown}", "is unknown: {unknown}", ""},
	{job.ReasonGPULost, someGPU, "the driver reports it as lost or broken{detail}", "is lost: {alone}", ""},

	{job.ReasonGPUFree, aside, "free", "", ""},
	{job.ReasonGPUType, aside, "another model{detail}", "", "are of another model"},
	{job.ReasonGPUNoParts, aside, "given as a whole only{detail}", "", "are given as a whole only"},
	{job.ReasonGPUExcluded, aside, "not among the GPUs the job may use", "", "are not among those the job may use"},
}

// rank returns the index of a code in reasons, or -1.
func rank(code job.ReasonCode) int {
	for i := range reasons {
		if reasons[i].code == code {
			return i
		}
	}
	return -1
}

// OfJob reports whether a reason is about the job or its owner, and not about the machine.
func OfJob(code job.ReasonCode) bool {
	at := rank(code)
	return at >= 0 && reasons[at].about <= quota
}

// ReasonCodes returns every code that a job.Reason can have.
func ReasonCodes() []job.ReasonCode {
	codes := make([]job.ReasonCode, len(reasons))
	for i := range reasons {
		codes[i] = reasons[i].code
	}
	return codes
}

// Reason returns why a job waits, without naming the GPU.
func Reason(r job.Reason) string {
	at := rank(r.Code)
	if at < 0 {
		return string(r.Code)
	}
	return expand(reasons[at].alone, r)
}

// expand replaces each name in braces with the part of the reason that has this name.
func expand(format string, r job.Reason) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(format, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		b.WriteString(value(name, r))
		format = after
	}
}

func value(name string, r job.Reason) string {
	switch name {
	case "alone":
		return Reason(r)
	case "text":
		return Say(r.Detail)
	case "detail":
		return inBrackets(Say(r.Detail))
	case "unknown":
		return cmp.Or(Say(r.Detail), "the driver does not answer")
	case "job":
		return firstName(r)
	case "holders":
		return listHolders(r)
	case "after":
		if !r.Detail.IsZero() {
			return "(" + Say(r.Detail) + ")"
		}
		return "after " + value("leaver", r)
	case "leaver":
		if r.Job == 0 {
			return "an earlier job"
		}
		return "job " + firstName(r)
	case "suspect":
		if r.Detail.Code == "detail/failing" {
			return Say(r.Detail)
		}
		return "something of " + value("leaver", r) + " is still on it" + inBrackets(Say(r.Detail))
	case "besides":
		if len(r.Foreign) == 0 {
			return ""
		}
		return "; of no job: " + nameForeign(r.Foreign)
	case "outsiders":
		return nameOutsiders(r)
	case "failed":
		return whatFailed(r.Need)
	case "are":
		return areSo(r.Need)
	case "left":
		return areSo(r.Have)
	}
	what, unit, _ := strings.Cut(name, " ")
	n := r.Need
	if what == "have" {
		n = r.Have
	}
	switch unit {
	case "bytes":
		return job.FormatSize(n)
	case "GPUs":
		return job.FormatGPUs(int(n))
	case "wish":
		return job.GPURequest{GPUs: job.GPUs(n)}.String()
	case "":
		return strconv.FormatInt(n, 10)
	}
	return job.Count(n, unit)
}

func areSo(many int64) string {
	if many == 1 {
		return "is"
	}
	return "are"
}

// whatFailed returns what went wrong before the scheduler delayed the job: either the job itself
// failed, or its start failed several times in a row.
func whatFailed(starts int64) string {
	switch {
	case starts > 1:
		return fmt.Sprintf("could not be started %d times in a row, and is tried", starts)
	case starts == 1:
		return "could not be started, and is tried"
	}
	return "failed, and is tried"
}

// jobNames returns the names of a reason's jobs, or nil.
func jobNames(r job.Reason) []string {
	if r.Names != nil || r.Job == 0 {
		return r.Names
	}
	list := []string{r.Job.String()}
	for _, id := range r.Others {
		list = append(list, id.String())
	}
	return list
}

// firstName returns the name of the first of a reason's jobs.
func firstName(r job.Reason) string {
	if list := jobNames(r); list != nil {
		return list[0]
	}
	return r.Job.String()
}

// listHolders lists those jobs on a GPU that the reason names. It adds the number of the other jobs
// on the GPU.
func listHolders(r job.Reason) string {
	list := jobNames(r)
	if len(list) < 2 {
		return "job " + firstName(r)
	}
	if more := int(r.Have) - len(list); more > 0 {
		return fmt.Sprintf("jobs %s and %d more", strings.Join(list, ", "), more)
	}
	last := len(list) - 1
	return "jobs " + strings.Join(list[:last], ", ") + " and " + list[last]
}

// nameOutsiders returns who uses a GPU without gpusched.
func nameOutsiders(r job.Reason) string {
	var parts []string
	if len(r.Foreign) > 0 {
		parts = append(parts, nameForeign(r.Foreign))
	}
	if r.Have > 0 {
		parts = append(parts, job.FormatSize(r.Have)+" in use by processes that the driver does not list")
	}
	return cmp.Or(strings.Join(parts, ", "), "the driver does not say by whom")
}

// nameForeign names processes that belong to no job.
func nameForeign(list []job.Foreign) string {
	parts := make([]string, len(list))
	for i, f := range list {
		who, has := "process "+strconv.Itoa(f.PID), "some"
		switch {
		case f.User != "":
			who = f.User + "'s " + who
		case f.UID >= 0:
			who += " of uid " + strconv.Itoa(f.UID)
		}
		if f.Bytes >= 0 {
			has = job.FormatSize(f.Bytes)
		}
		parts[i] = who + " has " + has
	}
	return strings.Join(parts, ", ")
}
