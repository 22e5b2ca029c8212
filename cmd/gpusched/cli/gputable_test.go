package cli

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A job on a GPU has the same name in all columns. The name contains its machine or engine once.
func TestJobsOnAGPUAreNamedAlike(t *testing.T) {
	shares := func(called string) []job.GPUShare {
		return []job.GPUShare{{Job: 7, Called: called, Milli: 500, UsedBytes: 1 << 30}}
	}
	for _, c := range []struct {
		what       string
		gpu        api.GPU
		jobs, uses string
	}{
		{"here", api.GPU{GPU: job.GPU{Shares: shares("7_3")}}, "7_3:0.5", "7_3:1G"},
		{"another machine", api.GPU{Host: "a", GPU: job.GPU{Shares: shares("a:7_3")}}, "a:7_3:0.5", "a:7_3:1G"},
		{"without names there", api.GPU{Host: "a", GPU: job.GPU{Shares: shares("")}}, "a:7:0.5", "a:7:1G"},
		{"without shares", api.GPU{Host: "a", GPU: job.GPU{Jobs: []job.ID{7, 8}}}, "a:7,a:8", ""},
		{"Slurm", api.GPU{Engine: "slurm", GPU: job.GPU{Shares: shares("7_3")}}, "slurm:7_3:0.5", "slurm:7_3:1G"},
		{"Slurm without names", api.GPU{Engine: "slurm", GPU: job.GPU{Jobs: []job.ID{7}}}, "slurm:7", ""},
	} {
		c.gpu.MemTotalBytes = 80 << 30
		if jobs, uses := sharesOf(c.gpu), memoryOfJobs(c.gpu); jobs != c.jobs || uses != c.uses {
			t.Errorf("%s: jobs %q and memory %q, want %q and %q", c.what, jobs, uses, c.jobs, c.uses)
		}
	}
}
