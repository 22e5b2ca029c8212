//go:build machine

package suite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// holdsBytes is the GPU memory that the jobs of these tests allocate with --mem 2G.
const holdsBytes = 2 << 30

// smiProcesses returns the pids that nvidia-smi lists in the box.
func smiProcesses(t *testing.T) []string {
	t.Helper()
	return strings.Fields(sh(t, "", "nvidia-smi --query-compute-apps=pid --format=csv,noheader"))
}

// TestRealGPUMemoryIsSeen: GPU memory that a job allocates
// is shown as used memory of the GPU and as used by the job.
func TestRealGPUMemoryIsSeen(t *testing.T) {
	begin(t)
	settings(t, "[gpus]\nsample_interval = \"1s\"")
	realGPUs(t)
	id := submit(t, "alice", "-g 1 -- cudasum --mem 2G --hold 1000")
	waitText(t, id, "holds")
	index := show(t, "", id).GPUs[0].Index
	poll(t, "the memory shows", func() bool {
		g := realGPU(t, index)
		return g.MemUsedBytes >= holdsBytes && g.MemUsedBytes < g.MemTotalBytes
	})
	pid := sh(t, "", fmt.Sprintf("systemctl show -P MainPID gpujob-%d", id))
	if listed := smiProcesses(t); !slices.Contains(listed, pid) {
		t.Fatalf("nvidia-smi lists %q, and not process %s of the job", listed, pid)
	}
	poll(t, "the process shows as the job's", func() bool {
		g := realGPU(t, index)
		return slices.ContainsFunc(g.Processes, func(p job.GPUProcess) bool {
			fits := p.UsedBytes >= holdsBytes && p.UsedBytes < int64(g.MemTotalBytes)
			return strconv.Itoa(p.PID) == pid && p.Job == job.ID(id) && fits
		})
	})
	poll(t, "the memory shows as the job's", func() bool {
		a := show(t, "alice", id).GPUs[0]
		return a.UsedBytes >= holdsBytes && a.PeakBytes >= holdsBytes
	})
	t.Logf("gpusched gpus, show:\n%s", sh(t, "alice", fmt.Sprintf("gpusched gpus; gpusched show %d", id)))
	cancel(t, "alice", id)
	poll(t, "the memory is free again", func() bool { return realGPU(t, index).MemUsedBytes < holdsBytes })
}

// TestRealGPUForeign: while a foreign process computes on GPUs, no job gets these GPUs, and
// 'gpusched why' says so.
func TestRealGPUForeign(t *testing.T) {
	begin(t)
	settings(t, "[gpus]\nsample_interval = \"1s\"")
	gpus := realGPUs(t)
	// 3G exceed max_foreign_memory. So the process counts even if the driver lists no processes.
	sh(t, "", "systemd-run --quiet --unit stranger cudasum --mem 3G --hold 1000")
	t.Cleanup(func() { try(t, "", "systemctl stop stranger") })
	poll(t, "the foreign process holds memory", func() bool {
		return strings.Contains(try(t, "", "journalctl -q --no-pager -o cat -u stranger").Stdout, "holds\n")
	})
	poll(t, "the foreign process shows", func() bool {
		return !slices.ContainsFunc(gpus, func(g api.GPU) bool { return realGPU(t, g.Index).MemUsedBytes < 3<<30 })
	})
	id := submit(t, "alice", "-g 1 -- cudasum")
	waitsFor(t, "alice", id, "in use outside gpusched")
	awaitSamples(t, 3)
	waitsFor(t, "alice", id, "in use outside gpusched")
	t.Logf("gpusched why:\n%s", askWhy(t, "alice", id))
	sh(t, "", "systemctl stop stranger")
	mustEnd(t, wait(t, id), job.Completed, "exit code 0")
	waitText(t, id, "sum ok")
}

// TestRealGPUHandOver: a job that computes and uses GPU memory is cancelled, and another job
// computes on the same GPU. The time between the two jobs is logged but not checked.
func TestRealGPUHandOver(t *testing.T) {
	begin(t)
	index := realGPUs(t)[0].Index
	first := submit(t, "alice", fmt.Sprintf("--gpu-ids %d -- cudasum --mem 2G --hold 1000 --busy", index))
	waitText(t, first, "holds")
	const next = "-- bash -c 'echo begins $(date +%s.%N); exec cudasum --time'"
	second := submit(t, "bob", fmt.Sprintf("--gpu-ids %d ", index)+next)
	waitsFor(t, "bob", second, fmt.Sprintf("held by job %d", first))
	asked := sh(t, "alice", fmt.Sprintf("date +%%s.%%N; gpusched cancel %d >/dev/null", first))
	j := wait(t, second)
	mustEnd(t, j, job.Completed, "exit code 0")
	mustEnd(t, wait(t, first), job.Cancelled, "cancelled by alice")
	out := waitText(t, second, "time init")
	computedOn(t, out, j)
	_, rest, _ := strings.Cut(out, "begins ")
	begins, _, _ := strings.Cut(rest, "\n")
	from, errFrom := strconv.ParseFloat(asked, 64)
	to, errTo := strconv.ParseFloat(begins, 64)
	if errFrom != nil || errTo != nil {
		t.Fatalf("cancelled at %q, but the next begins at %q", asked, begins)
	}
	t.Logf("from 'gpusched cancel' to the next job's first line: %.3f s\n%s", to-from, out)
}

// TestRealGPUShares: two jobs, each with half of the same GPU, compute at the same time.
func TestRealGPUShares(t *testing.T) {
	begin(t)
	index := realGPUs(t)[0].Index
	args := fmt.Sprintf("-g 0.5 --gpu-ids %d --gpu-mem 2G -- cudasum --mem 1G --hold 1000 --busy", index)
	a, b := submit(t, "alice", args), submit(t, "bob", args)
	waitText(t, a, "holds")
	waitText(t, b, "holds")
	for _, id := range []int64{a, b} {
		j := show(t, "", id)
		if j.State != job.Running || len(j.GPUs) != 1 || j.GPUs[0].Index != index || j.GPUs[0].Milli != 500 {
			t.Errorf("job %d is %s on %+v", id, j.State, j.GPUs)
		}
		computedOn(t, output(t, "", id), j)
	}
	cancel(t, "alice", a)
	cancel(t, "bob", b)
}
