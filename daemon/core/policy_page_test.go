package core

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core/estimates"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
)

// The example of a charge in gpusched-policy(7) is right.
func TestThePolicyPageOnCharges(t *testing.T) {
	page, err := os.ReadFile("../../cmd/gpusched/manual/text/policy.txt")
	if err != nil {
		t.Fatal(err)
	}
	const gib = 1 << 30
	c := withGPUs(site.Policy{HostMemBytes: 512 * gib, HostCPUs: 64}, 8)
	if machine := "8 GPUs, 64 CPUs and 512 GiB"; !strings.Contains(string(page), machine) {
		t.Errorf("the page is not about a machine of %s", machine)
	}
	want := fmt.Sprintf("    %15s  charged as\n", "job asks")
	for _, w := range []struct {
		asks string
		gpus int
		job.Request
	}{
		{"-g 2", 2, job.Request{}},
		{"-g 1 --cpus 32", 1, job.Request{CPUs: 32}},
		{"-g 0 --mem 256G", 0, job.Request{MemBytes: 256 * gib}},
	} {
		j := job.Job{Request: w.Request, Attempt: &job.Attempt{GPUs: make([]job.Allocation, w.gpus)}}
		want += fmt.Sprintf("    %15s  %10s\n", w.asks, fmt.Sprintf("%d GPUs", c.accounts.LargestShare(&j)/job.WholeGPU))
	}
	if !strings.Contains(string(page), "\n\n"+want+"\n") {
		t.Errorf("the page lacks this table:\n%s", want)
	}
	for _, says := range []string{
		fmt.Sprintf("Each job that runs for %d seconds or more", estimates.ShortestLesson/time.Second),
		fmt.Sprintf("more than %.0f times that of all users, the expected run times", estimates.Outlier),
		fmt.Sprintf("While fewer than %s of a kind have ended", map[int]string{5: "five"}[estimates.TriedRuns]),
	} {
		if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), says) {
			t.Errorf("the page does not say: %s", says)
		}
	}
}
