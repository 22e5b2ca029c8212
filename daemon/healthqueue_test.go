package daemon

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// A job that asks for more than the machine has counts as a fault. A job that a quota holds back is
// only reported.
func TestHealthOfTheQueue(t *testing.T) {
	gpus := job.Say("never/gpu-count", job.GPURequest{GPUs: 4 * job.WholeGPU}, 3)
	quota := job.Say("never/quota", job.GPURequest{GPUs: 3 * job.WholeGPU}, job.Text("alice"), job.GPUs(2*job.WholeGPU))
	for _, c := range []struct {
		machine, quota core.Hopeless
		health         job.Health
		detail         string
	}{
		{health: job.Healthy, detail: "no waiting job asks for more than the machine has or its user's quota allows"},
		{machine: core.Hopeless{Jobs: 1, First: "7", Why: gpus}, health: job.Degraded,
			detail: "job 7 can never start: asks for 4 GPUs, this machine has 3 (see 'gpusched gpus')"},
		{machine: core.Hopeless{Jobs: 2, First: "7_3", Why: gpus}, quota: core.Hopeless{Jobs: 1, First: "5", Why: quota}, health: job.Degraded,
			detail: "2 jobs can't start as things are; job 7_3, the first of them, can never start: asks for 4 GPUs, this machine has 3 (see 'gpusched gpus')"},
		{quota: core.Hopeless{Jobs: 1, First: "5", Why: quota}, health: job.Healthy,
			detail: "job 5 can never start: asks for 3 GPUs, the quota of alice is 2 (ask for fewer, or an administrator for a larger quota)"},
	} {
		got := checkQueue(&c.machine, &c.quota)
		if got.Health != c.health || got.Detail != c.detail || got.Next == "" && c.health == job.Degraded {
			t.Errorf("health of the queue: %+v", got)
		}
		if c.machine.Jobs > 0 && !strings.Contains(got.Next, "'gpusched why "+c.machine.First+"'") {
			t.Errorf("what to do is %q", got.Next)
		}
	}
}
