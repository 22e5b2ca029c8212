package words

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

func TestWhyIsOneShortLine(t *testing.T) {
	machine := func(code job.ReasonCode, need, have int64) job.Reason {
		return job.Reason{Code: code, GPU: job.NoGPU, Need: need, Have: have}
	}
	on := func(gpu int, code job.ReasonCode, id job.ID) job.Reason {
		return job.Reason{Code: code, GPU: gpu, Job: id}
	}
	quotaOf := func(need int64) job.Reason {
		left := job.Say("detail/quota-left", job.Text("ann"), int64(5), int64(12))
		return job.Reason{Code: job.ReasonQuotaCPUs, GPU: job.NoGPU, Need: need, Have: 5, Detail: left}
	}
	for _, c := range []struct {
		list []job.Reason
		want string
	}{
		{nil, ""},
		{[]job.Reason{on(0, job.ReasonGPUBusy, 3)}, "GPU 0 is held by job 3"},
		{[]job.Reason{on(0, job.ReasonGPUBusy, 3), on(1, job.ReasonGPUBusy, 4)}, "GPUs 0,1 are held by jobs 3,4"},
		{[]job.Reason{on(0, job.ReasonGPUBusy, 3), on(1, job.ReasonGPUBusy, 3)}, "GPUs 0,1 are held by job 3"},
		{[]job.Reason{on(0, job.ReasonGPUBusy, 3), on(1, job.ReasonGPUBusy, 4), on(2, job.ReasonGPUBusy, 5), on(3, job.ReasonGPUBusy, 6)},
			"GPUs 0,1,2,3 are held by jobs 3,4,5,…"},
		{[]job.Reason{machine(job.ReasonGPUCount, 2, 1), on(0, job.ReasonGPUBusy, 3), on(1, job.ReasonGPUFree, 0)},
			"needs 2 GPUs, 1 available now; GPU 0 is held by job 3"},
		{[]job.Reason{on(0, job.ReasonGPUBusy, 3), on(1, job.ReasonGPUExcluded, 0)}, "GPU 0 is held by job 3"},
		{[]job.Reason{on(0, job.ReasonGPUType, 0), on(1, job.ReasonGPUExcluded, 0)},
			"GPU 0 is another model; GPU 1 is not among the GPUs the job may use"},
		{[]job.Reason{on(0, job.ReasonGPULost, 0), on(1, job.ReasonGPUPaused, 0), on(2, job.ReasonGPUPaused, 0)},
			"GPUs 1,2 are paused; GPU 0 is lost: the driver reports it as lost or broken"},
		{[]job.Reason{on(0, job.ReasonGPUDrained, 0), on(1, job.ReasonGPUPaused, 0), on(2, job.ReasonGPUCleaning, 4), on(3, job.ReasonGPUBusy, 5)},
			"GPU 2 is being checked after job 4; GPU 3 is held by job 5"},
		{[]job.Reason{on(0, job.ReasonGPUBusy, 3), {Code: job.ReasonDependency, GPU: job.NoGPU, Job: 9, Detail: job.Text("has completed")}},
			"waits until job 9 has completed"},
		{[]job.Reason{{Code: job.ReasonQuotaGPUs, GPU: job.NoGPU, Need: 2000, Have: 2000, Detail: job.Text("alice")}, {Code: job.ReasonHeld, GPU: job.NoGPU, Detail: job.Text("root")}},
			"held by root"},
		{[]job.Reason{{Code: job.ReasonGPUShare, GPU: 1, Need: 500, Have: 250}}, "GPU 1 has 0.25 free, 0.5 needed"},
		{[]job.Reason{{Code: job.ReasonGPUShare, GPU: 0, Need: 500, Have: 250}, {Code: job.ReasonGPUShare, GPU: 1, Need: 500}},
			"GPUs 0,1 have too little free, 0.5 needed"},
		{[]job.Reason{on(0, job.ReasonGPUKept, 3), on(1, job.ReasonGPUKept, 3)}, "GPUs 0,1 are kept for job 3, ahead of this one"},
		{[]job.Reason{{Code: job.ReasonGPUMemory, GPU: 2, Need: 20 << 30, Have: 3 << 30}}, "GPU 2 has 3G free, 20G needed"},
		{[]job.Reason{{Code: job.ReasonGPUMemory, GPU: 2, Need: 20 << 30, Have: 3 << 30, Detail: job.Text("not told")}}, "GPU 2 has 3G free, 20G needed (not told)"},
		{[]job.Reason{machine(job.ReasonHostCPUs, 8, 4), on(0, job.ReasonGPUBusy, 3)}, "GPU 0 is held by job 3; needs 8 CPUs, 4 are free"},
		{[]job.Reason{quotaOf(9), on(0, job.ReasonGPUFree, 0), on(1, job.ReasonGPUBusy, 3)}, "quota: needs 9 CPUs, ann has 5 of 12 left"},
		{[]job.Reason{quotaOf(9), on(0, job.ReasonGPUBusy, 3)}, "GPU 0 is held by job 3; quota: needs 9 CPUs, ann has 5 of 12 left"},
		{[]job.Reason{quotaOf(9), machine(job.ReasonGPUCount, 2, 1), on(0, job.ReasonGPUFree, 0), on(1, job.ReasonGPUBusy, 3)},
			"needs 2 GPUs, 1 available now; GPU 1 is held by job 3; quota: needs 9 CPUs, ann has 5 of 12 left"},
		{[]job.Reason{quotaOf(9)}, "quota: needs 9 CPUs, ann has 5 of 12 left"},
		{[]job.Reason{machine(job.ReasonGPUCount, 2, 1), on(0, job.ReasonGPUBusy, 56), on(1, job.ReasonGPUBusy, 57), on(2, job.ReasonGPUFree, 0),
			{Code: job.ReasonGPUReserved, GPU: 3, Detail: job.Text("for dora from 04:49 to 06:49")}},
			"needs 2 GPUs, 1 available now; GPU 3 is reserved (for dora from 04:49 to 06:49)"},
		{[]job.Reason{on(0, job.ReasonGPUCleaning, 4), on(1, job.ReasonGPUBusy, 5), on(2, job.ReasonGPUKept, 6),
			{Code: job.ReasonGPUReserved, GPU: 3, Detail: job.Text("for dora")}, {Code: job.ReasonGPUReserved, GPU: 4, Detail: job.Text("for dora")}},
			"GPUs 3,4 are reserved (for dora); GPU 0 is being checked after job 4"},
		{[]job.Reason{machine(job.ReasonMaxRunning, 8, 0)}, "8 jobs are running, the site allows no more at once"},
	} {
		if got := Why(c.list); got != c.want {
			t.Errorf("Why(%+v)\n got %q\nwant %q", c.list, got, c.want)
		}
	}
}

// The summary has words for every code, and never shows the code itself.
func TestWhyKnowsEveryCode(t *testing.T) {
	for _, code := range ReasonCodes() {
		for _, list := range [][]job.Reason{
			{{Code: code, GPU: job.NoGPU}}, {{Code: code, GPU: 0, Job: 1}}, {{Code: code, GPU: 0, Job: 1}, {Code: code, GPU: 1, Job: 2}},
		} {
			if got := Why(list); got == "" || got == string(code) {
				t.Errorf("why of %s is %q", code, got)
			}
		}
	}
}

// Each declared code has exactly one row, and the rows about GPUs come last.
// A code without a row would be sorted first, or be lost.
func TestEveryCodeHasARow(t *testing.T) {
	text, err := os.ReadFile("../job/reason.go")
	if err != nil {
		t.Fatal(err)
	}
	var declared []job.ReasonCode
	for _, m := range regexp.MustCompile(`ReasonCode = "([a-z-]+)"`).FindAllSubmatch(text, -1) {
		declared = append(declared, job.ReasonCode(m[1]))
	}
	codes := ReasonCodes()
	if slices.Sort(declared); !slices.Equal(declared, slices.Sorted(slices.Values(codes))) {
		t.Errorf("declared are %q, words are for %q", declared, codes)
	}
	if !slices.IsSortedFunc(reasons, func(a, b reason) int { return int(a.about - b.about) }) {
		t.Error("the rows are not in the order of whom they concern")
	}
	for _, r := range reasons {
		gpu := strings.HasPrefix(string(r.code), "gpu-") && r.code != job.ReasonGPUCount
		if gpu != (r.about == someGPU || r.about == aside) {
			t.Errorf("%s concerns %d", r.code, r.about)
		}
	}
}
