package onslurm

import (
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/job"
)

// Reason codes that only Slurm's jobs have.
const (
	reasonNever      job.ReasonCode = "never"
	reasonNotAllowed job.ReasonCode = "not-allowed"
	reasonNode       job.ReasonCode = "node-out"
	reasonOther      job.ReasonCode = "other"
)

// ownReasons are the entries of the manual for the reasons that only Slurm's jobs have.
var ownReasons = []manual.Entry{
	{Word: string(reasonNever), Text: "On Slurm: no node has what the job asks for, or it asks for more than its partition allows: it will never start."},
	{Word: string(reasonNotAllowed), Text: "On Slurm: the account or the quality of service (QOS) of the job is not valid, or not for its partition."},
	{Word: string(reasonNode), Text: "On Slurm: a node that the job needs is down, drained, or kept for other jobs."},
	{Word: string(reasonOther), Text: "On Slurm: a reason that only Slurm has; the sentence names it."},
}

// reasons translates Slurm's reasons (squeue(1), JOB REASON CODES). Reasons that name a limit of an
// association or a QOS are missing here: explain translates them.
var reasons = []struct {
	word string
	code job.ReasonCode
	text string
}{
	{"Priority", job.ReasonGPUKept, "jobs of a higher priority are before it"},
	{"Resources", job.ReasonGPUCount, "it is next: what it asks for is not free yet"},
	{"Dependency", job.ReasonDependency, "waits until other jobs have ended"},
	{"DependencyNeverSatisfied", job.ReasonDependency, "what it waits for can't happen any more: it will never start (cancel it)"},
	{"BeginTime", job.ReasonBegin, "its time to begin has not come"},
	{"JobHeldUser", job.ReasonHeld, "held by its user ('gpusched release' lets it go)"},
	{"JobHeldAdmin", job.ReasonHeld, "held by a Slurm administrator"},
	{"JobArrayTaskLimit", job.ReasonArrayLimit, "as many tasks of its array run as its limit allows"},
	{"ReqNodeNotAvail", reasonNode, "a node that it needs is not available: down, drained or reserved"},
	{"Reservation", job.ReasonGPUReserved, "waits for the reservation that it asked for"},
	{"Nodes", reasonNode, "a node that it needs is down, drained or kept for other jobs"},
	{"NodeDown", reasonNode, "a node that it needs is down"},
	{"PartitionDown", job.ReasonDrained, "its partition is down"},
	{"PartitionInactive", job.ReasonDrained, "its partition takes no jobs now"},
	{"PartitionTimeLimit", reasonNever, "it asks for more time than its partition allows: it will never start"},
	{"PartitionNodeLimit", reasonNever, "it asks for more nodes than its partition allows: it will never start"},
	{"PartitionConfig", reasonNever, "its partition can't give what it asks for"},
	{"BadConstraints", reasonNever, "no node has what it asks for: it will never start"},
	{"Licenses", reasonOther, "waits for a licence"},
	{"InvalidAccount", reasonNotAllowed, "its account is not valid"},
	{"InvalidQOS", reasonNotAllowed, "its quality of service (QOS) is not valid"},
	{"AccountNotAllowed", reasonNotAllowed, "its account may not use its partition"},
	{"QOSNotAllowed", reasonNotAllowed, "its quality of service (QOS) may not use its partition or account"},
	{"NonZeroExitCode", job.ReasonBackoff, "its command ended with an error"},
	{"JobLaunchFailure", job.ReasonBackoff, "its command could not be started, or was killed at once"},
	{"TimeLimit", job.ReasonBackoff, "it reached its time limit"},
	{"InactiveLimit", job.ReasonBackoff, "it was inactive for longer than the site allows"},
	{"launch_failed_requeued_held", job.ReasonHeld, "it could not be started and is held ('gpusched release' tries again)"},
	{"job_requeued_in_held_state", job.ReasonHeld, "queued again and held ('gpusched release' lets it go)"},
	{"JobHoldMaxRequeue", job.ReasonHeld, "held: it was queued again too often"},
	{"Cleaning", job.ReasonGPUCleaning, "what is left of its last start is being removed"},
	{"Prolog", job.ReasonChecking, "its nodes are being prepared"},
	{"FrontEndDown", reasonNode, "no front-end node is up"},
	{"RaisedSignal", job.ReasonBackoff, "it was ended by a signal"},
	{"SystemFailure", reasonNode, "Slurm or the machine failed"},
	{"MaxRequeue", job.ReasonHeld, "held: it was queued again too often"},
	{"MaxMemPerLimit", reasonNever, "it asks for more memory than the site allows: it will never start"},
	{"SchedDefer", job.ReasonChecking, "the scheduler has not looked at it yet"},
	{"Deadline", job.ReasonBegin, "it can't end before its deadline"},
}

// wordOf returns the word of a reason. The reason may also be a sentence or have details, as in
// "ReqNodeNotAvail, UnavailableNodes:n1", "RaisedSignal:11(Segmentation_fault)", or "Nodes required
// for job are DOWN, DRAINED or ...".
func wordOf(reason string) string {
	word, _, _ := strings.Cut(strings.Trim(reason, "() "), ",")
	word, _, _ = strings.Cut(word, ":")
	if strings.HasPrefix(word, "Nodes required for job") {
		return "Nodes"
	}
	return strings.ReplaceAll(word, " ", "_")
}

// explain returns the sentence for a reason. For an unknown reason it uses Slurm's own words.
func explain(reason string) string {
	word := wordOf(reason)
	for _, r := range reasons {
		if r.word == word {
			return r.text + " (Slurm: " + word + ")"
		}
	}
	switch {
	case word == "":
		return "Slurm does not say why"
	case isLimit(word):
		return limitOf(word) + " (Slurm: " + word + ")"
	}
	return "Slurm says " + strings.Trim(reason, "() ")
}

// isLimit reports whether a reason is a limit of an association, an account or a QOS, such as
// QOSMaxGRESPerUser or AssocGrpGRES.
func isLimit(word string) bool {
	prefixes := []string{"Assoc", "QOS", "MaxJobs", "MaxSubmit", "MaxGRES", "MaxCpu", "MaxNode", "MaxWall"}
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(word, p) })
}

// limitOf returns the sentence for a limit of an association, an account or a QOS.
func limitOf(word string) string {
	whose := "a limit of its account"
	switch {
	case strings.Contains(word, "PerUser"), strings.Contains(word, "PU"):
		whose = "a limit of its user"
	case strings.HasPrefix(word, "QOS"):
		whose = "a limit of its quality of service (QOS)"
	}
	for _, part := range []struct{ in, text string }{
		{"GRESMinutes", "on GPU time"}, {"GRES", "on GPUs"}, {"Cpu", "on CPUs"}, {"CPU", "on CPUs"}, {"Memory", "on memory"},
		{"Mem", "on memory"}, {"Jobs", "on jobs"}, {"Submit", "on jobs"}, {"Wall", "on time"}, {"Node", "on nodes"},
	} {
		if strings.Contains(word, part.in) {
			return whose + " " + part.text + " is reached"
		}
	}
	return whose + " is reached"
}

// codeFor returns our code for a reason.
func codeFor(word string) job.ReasonCode {
	word = wordOf(word)
	for _, r := range reasons {
		if r.word == word {
			return r.code
		}
	}
	switch {
	case !isLimit(word):
		return reasonOther
	case strings.Contains(word, "Jobs"), strings.Contains(word, "Submit"):
		return job.ReasonQuotaJobs
	case strings.Contains(word, "Mem"):
		return job.ReasonQuotaMem
	case strings.Contains(strings.ToLower(word), "cpu"):
		return job.ReasonQuotaCPUs
	case strings.Contains(word, "Minutes"):
		return job.ReasonQuotaHours
	}
	return job.ReasonQuotaGPUs
}
