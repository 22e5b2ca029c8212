//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/packaging/test/vm"
)

// withCUDA installs the fake libcuda.so.1 until the end of the test.
func withCUDA(t *testing.T) {
	t.Helper()
	const link = "/usr/lib/x86_64-linux-gnu/libcuda.so.1"
	sh(t, "", "ln -s "+vm.FakeCUDAPath+" "+link)
	t.Cleanup(func() { sh(t, "", "rm -f "+link) })
}

// cudaSays sets what CUDA says of some GPUs, see package fakenvml.
func cudaSays(t *testing.T, of map[int]string) {
	t.Helper()
	text := ""
	for i := range 4 {
		text += fmt.Sprintf("minor=%d", i)
		if says := of[i]; says != "" {
			text += " cuda=" + says
		}
		text += "\\n"
	}
	sh(t, "", "printf '"+text+"' > /run/fakenvml/new; mv /run/fakenvml/new "+vm.FakeNVMLGPUs)
}

// TestDoctorTestsCUDA: the jobs of doctor --test compute with CUDA on their GPUs. It names the GPU
// that computes wrongly, and says if there is no CUDA.
func TestDoctorTestsCUDA(t *testing.T) {
	begin(t)
	_, found := trials(t, "alice", "--gpu-ids 0")
	if c := found[0]["sums"]; c.Health != job.Limited || !strings.Contains(c.Detail, "libcuda.so.1") {
		t.Errorf("without the library: %+v", c)
	}
	withCUDA(t)
	_, found = trials(t, "alice", "--gpu-ids 0-1")
	for i, checks := range found {
		if c := checks["sums"]; c.Health != job.Healthy {
			t.Errorf("GPU %d: %+v", i, c)
		}
	}
	cudaSays(t, map[int]string{1: "-1", 2: "999"})
	code, found := trials(t, "alice", "--gpu-ids 0-2")
	if c := found[0]["sums"]; c.Health != job.Healthy {
		t.Errorf("GPU 0: %+v", c)
	}
	if c := found[1]["sums"]; code != 1 || c.Health != job.Failing || !strings.Contains(c.Detail, "wrong sums") {
		t.Errorf("GPU 1: %d, %+v", code, c)
	}
	if c := found[2]["sums"]; c.Health != job.Failing || !strings.Contains(c.Detail, "cuInit: 999 CUDA_ERROR_UNKNOWN") {
		t.Errorf("GPU 2: %+v", c)
	}
}
