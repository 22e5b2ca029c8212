package daemon

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// Health says which GPUs were not tested, and why. A missing library is no fault of the machine.
func TestCheckProofs(t *testing.T) {
	view := func(why ...string) *job.View {
		v := &job.View{}
		for i, w := range why {
			v.GPUs = append(v.GPUs, job.GPUView{GPU: job.GPU{Index: i}, Untested: job.Text(w)})
		}
		return v
	}
	for _, c := range []struct {
		v      *job.View
		off    bool
		health job.Health
		says   string
	}{
		{v: view("", ""), health: job.Healthy, says: "each GPU is tested with CUDA"},
		{v: view("", ""), off: true, health: job.Healthy, says: "not tested with CUDA (gpus.probe)"},
		{v: view("", "no bus", "no bus"), health: job.Limited, says: "GPU 1,2: used without a test with CUDA: no bus"},
		{v: view(NoCUDA), health: job.Healthy, says: "GPU 0: used without a test with CUDA: there is no libcuda.so.1"},
	} {
		got := checkProofs(c.v, !c.off)
		if got.Health != c.health || !strings.Contains(got.Detail, c.says) || (got.Health == job.Healthy) != (got.Next == "") {
			t.Errorf("%+v, want %s %q", got, c.health, c.says)
		}
	}
}
