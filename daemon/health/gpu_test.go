package health

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// Health says that the driver is too old to park jobs, but only where the site allows parking.
func TestParkingNeedsADriver(t *testing.T) {
	for driver, old := range map[string]bool{"550.54.15": true, "570.86.10": false, "1000.1": false, "": false, "unknown": false} {
		if got := Parking(&job.View{GPUSource: job.GPUSource{Driver: driver}}, true); len(got) == 1 != old {
			t.Errorf("driver %q: %v", driver, got)
		} else if old && (got[0].Health != job.Degraded || !strings.Contains(got[0].Detail, driver)) {
			t.Errorf("driver %q: %+v", driver, got[0])
		}
		if got := Parking(&job.View{GPUSource: job.GPUSource{Driver: driver}}, false); got != nil {
			t.Errorf("driver %q, not allowed: %v", driver, got)
		}
	}
}

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
		{v: view("", ""), off: true, health: job.Healthy, says: "not tested with CUDA (gpus.cuda_test)"},
		{v: view("", "no bus", "no bus"), health: job.Limited, says: "GPU 1,2: used without a test with CUDA: no bus"},
		{v: view(gpu.NoCUDA), health: job.Healthy, says: "GPU 0: used without a test with CUDA: there is no libcuda.so.1"},
	} {
		got := Proofs(c.v, !c.off)
		if got.Health != c.health || !strings.Contains(got.Detail, c.says) || (got.Health == job.Healthy) != (got.Next == "") {
			t.Errorf("%+v, want %s %q", got, c.health, c.says)
		}
	}
}

// A GPU that the settings name and that the machine lacks is reported.
func TestAbsentGPUs(t *testing.T) {
	got := absentGPUs([]int{0, 1, 9}, []job.GPUView{{GPU: job.GPU{Index: 1}}, {GPU: job.GPU{Index: 0}}})
	if len(got) != 1 || got[0] != 9 || len(absentGPUs(nil, nil)) != 0 {
		t.Errorf("%v", got)
	}
}
