//go:build machine

package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// parkHelper calls the program that parks processes for one process.
const parkHelper = "/usr/libexec/gpusched/gpusched-nvml MODE PID:$(cut -d' ' -f22 /proc/PID/stat)"

// TestRealGPUParks: the driver takes the GPU from a job's process and keeps its GPU memory on the host.
// The process then uses no GPU and stands still, and another program has the GPU. With its memory back,
// the process ends with the same result as one that nobody parked. Killing the program that parks does
// no harm.
func TestRealGPUParks(t *testing.T) {
	begin(t)
	index := realGPUs(t)[0].Index
	args := fmt.Sprintf("--gpu-ids %d -- cudasum --mem 2G --steps 200", index)
	alone := submit(t, "alice", args)
	mustEnd(t, wait(t, alone), job.Completed, "exit code 0")
	want := lastLine(waitText(t, alone, "steps ok"))

	id := submit(t, "alice", args)
	waitText(t, id, "step 20\n")
	pid := sh(t, "", fmt.Sprintf("systemctl show -P MainPID gpujob-%d", id))
	helper := func(mode string) string { return strings.NewReplacer("MODE", mode, "PID", pid).Replace(parkHelper) }
	sh(t, "", helper("--park")+" & sleep 0.1; kill -9 $!; wait; true")
	t.Logf("park: %s", sh(t, "", "{ time "+helper("--park")+"; } 2>&1"))
	if listed := smiProcesses(t); slices.Contains(listed, pid) {
		t.Errorf("nvidia-smi lists the parked process %s: %q", pid, listed)
	}
	poll(t, "its memory is free", func() bool { return realGPU(t, index).MemUsedBytes < holdsBytes })
	before := lastLine(output(t, "", id))
	other := sh(t, "", fmt.Sprintf("CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=%d cudasum --mem 3G", index))
	if after := lastLine(output(t, "", id)); !strings.Contains(other, "sum ok") || after != before {
		t.Errorf("the parked process went on from %q to %q while another said:\n%s", before, after, other)
	}
	t.Logf("unpark: %s", sh(t, "", "{ time "+helper("--unpark")+"; } 2>&1"))
	mustEnd(t, wait(t, id), job.Completed, "exit code 0")
	if got := lastLine(waitText(t, id, "steps ok")); got != want {
		t.Errorf("after parking it says %q, and alone %q", got, want)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
