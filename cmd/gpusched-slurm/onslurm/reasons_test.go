package onslurm

import (
	"slices"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// Each of Slurm's reasons has a fitting code, which the manual explains.
func TestCodesOfReasons(t *testing.T) {
	known := words.ReasonCodes()
	for _, c := range ownReasons {
		if slices.Contains(known, job.ReasonCode(c.Word)) {
			t.Errorf("%s is also a code of the scheduler", c.Word)
		}
		known = append(known, job.ReasonCode(c.Word))
	}
	for _, r := range reasons {
		if !slices.Contains(known, r.code) {
			t.Errorf("%s: the manual has no %s", r.word, r.code)
		}
	}
	for word, want := range map[string]job.ReasonCode{
		"PartitionTimeLimit": reasonNever, "BadConstraints": reasonNever, "InvalidQOS": reasonNotAllowed, "QOSNotAllowed": reasonNotAllowed,
		"Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": reasonNode,
		"ReqNodeNotAvail, UnavailableNodes:n1":                                                        reasonNode, "Licenses": reasonOther, "BurstBufferStageIn": reasonOther, "": reasonOther,
		"Resources": job.ReasonGPUCount, "Priority": job.ReasonGPUKept, "QOSMaxJobsPerUserLimit": job.ReasonQuotaJobs,
	} {
		if got := codeFor(word); got != want {
			t.Errorf("%q is %s, not %s", word, got, want)
		}
	}
}
