//go:build machine

package suite

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// realGPUs waits for the first sample of the GPUs and returns the GPUs of the last sample.
func realGPUs(t *testing.T) []api.GPU {
	t.Helper()
	var r api.GPUsReply
	poll(t, "the GPUs are seen", func() bool {
		r = api.GPUsReply{}
		err := json.Unmarshal([]byte(try(t, "", "gpusched gpus --json").Stdout), &r)
		return err == nil && len(r.GPUs) > 0 && !r.SampledAt.IsZero() && r.GPUs[0].UUID != ""
	})
	return r.GPUs
}

// realGPU returns one GPU by its index.
func realGPU(t *testing.T, index int) api.GPU {
	t.Helper()
	all := realGPUs(t)
	at := slices.IndexFunc(all, func(g api.GPU) bool { return g.Index == index })
	if at < 0 {
		t.Fatalf("there is no GPU %d in %+v", index, all)
	}
	return all[at]
}

var cudaDevice = regexp.MustCompile(`(?m)^device \d+ UUID (GPU-\S+) PCI \S+ NAME `)

// computedOn checks that cudasum computed on all GPUs of the job and on no other GPU.
func computedOn(t *testing.T, out string, j api.Job) {
	t.Helper()
	var got, want []string
	for _, m := range cudaDevice.FindAllStringSubmatch(out, -1) {
		got = append(got, m[1])
	}
	for _, g := range j.GPUs {
		want = append(want, g.UUID)
	}
	if slices.Sort(got); len(want) == 0 || !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("job %d computed on %q, but has %q:\n%s", j.ID, got, want, out)
	}
	if sums := strings.Count(out, "sum ok"); sums != len(want) {
		t.Errorf("job %d has %d correct sums:\n%s", j.ID, sums, out)
	}
}

// TestRealGPUInventory: gpusched lists the same GPUs as nvidia-smi. The box has the device nodes of
// the host, and doctor finds no fault of the driver.
func TestRealGPUInventory(t *testing.T) {
	begin(t)
	var got []string
	for _, g := range realGPUs(t) {
		mib, bus := g.MemTotalBytes>>20, strings.ToUpper(g.PCI)
		got = append(got, fmt.Sprintf("%d, %s, %s, %d, %s", g.Index, g.UUID, g.Name, mib, bus))
		sh(t, "alice", fmt.Sprintf("test -c /dev/nvidia%d", g.Minor))
	}
	const query = "nvidia-smi --query-gpu=index,uuid,name,memory.total,pci.bus_id --format=csv,noheader,nounits"
	if want := sh(t, "", query); strings.Join(got, "\n") != want {
		t.Errorf("gpusched has\n%s\nand nvidia-smi\n%s", strings.Join(got, "\n"), want)
	}
	host, err := filepath.Glob("/dev/nvidia[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	if nodes := strings.Fields(sh(t, "", "ls /dev/nvidia[0-9]*")); !slices.Equal(nodes, host) {
		t.Errorf("the box has %q, and the host %q", nodes, host)
	}
	t.Logf("gpusched gpus:\n%s", sh(t, "alice", "gpusched gpus"))
	t.Logf("gpusched doctor:\n%s", try(t, "", "gpusched doctor").Stdout)
	var reply api.HealthReply
	if err := json.Unmarshal([]byte(try(t, "", "gpusched doctor --json").Stdout), &reply); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, c := range reply.Checks {
		if c.Name != "driver" && c.Name != "device nodes" {
			continue
		}
		if found++; c.Health != job.Healthy {
			t.Errorf("the doctor says of %s: %+v", c.Name, c)
		}
	}
	if found != 2 {
		t.Errorf("the doctor looks at %d of 2: %+v", found, reply.Checks)
	}
}

// TestRealGPURuns: CUDA computes in a job on each GPU. The job sees only its own GPU, as number 0.
func TestRealGPURuns(t *testing.T) {
	begin(t)
	gpus := realGPUs(t)
	const visible = "-- bash -c 'echo visible [$CUDA_VISIBLE_DEVICES]; exec cudasum --time'"
	for _, g := range gpus {
		id := submit(t, "alice", fmt.Sprintf("--gpu-ids %d ", g.Index)+visible)
		j := wait(t, id)
		mustEnd(t, j, job.Completed, "exit code 0")
		out := waitText(t, id, "time init")
		computedOn(t, out, j)
		if !strings.Contains(out, "visible [0]\n") || len(j.GPUs) != 1 || j.GPUs[0].UUID != g.UUID {
			t.Errorf("job %d on GPU %d has %+v:\n%s", id, g.Index, j.GPUs, out)
		}
	}
	id := submit(t, "alice", fmt.Sprintf("-g %d -- cudasum --time", len(gpus)))
	j := wait(t, id)
	mustEnd(t, j, job.Completed, "exit code 0")
	out := waitText(t, id, "time init")
	computedOn(t, out, j)
	t.Logf("on all GPUs:\n%s", out)
}

// TestRealGPUIsClosedWithoutOne: in a job without a GPU, CUDA finds no GPU even if
// CUDA_VISIBLE_DEVICES is not set, and no GPU node can be opened. A later job has its own GPU.
func TestRealGPUIsClosedWithoutOne(t *testing.T) {
	begin(t)
	const looks = `for d in /dev/nvidia[0-9]*; do dd if=$d of=/dev/null count=0; done; cudasum; echo told $?
env -u CUDA_VISIBLE_DEVICES cudasum; echo looks $?`
	id := submit(t, "alice", "-g 0 -- bash -c '"+looks+"'")
	mustEnd(t, wait(t, id), job.Completed, "exit code 0")
	out := waitText(t, id, "looks")
	if strings.Count(out, "cuInit: ") != 2 || !strings.Contains(out, "told 3\n") || !strings.Contains(out, "looks 3") {
		t.Errorf("CUDA does not say that there is no GPU:\n%s", out)
	}
	for _, node := range strings.Fields(sh(t, "", "ls /dev/nvidia[0-9]*")) {
		if !regexp.MustCompile(regexp.QuoteMeta(node) + `\W+Operation not permitted`).MatchString(out) {
			t.Errorf("%s opens, or not for want of permission:\n%s", node, out)
		}
	}
	t.Logf("a job without a GPU:\n%s", out)
	id = submit(t, "alice", "-g 1 -- cudasum")
	j := wait(t, id)
	mustEnd(t, j, job.Completed, "exit code 0")
	computedOn(t, waitText(t, id, "sum ok"), j)
}

// TestRealGPUOutlivesReload: a job opens its GPU again and again while systemd is reloaded and
// re-executed and the daemon is restarted.
func TestRealGPUOutlivesReload(t *testing.T) {
	begin(t)
	realGPUs(t)
	id := submit(t, "alice", "-g 1 -- cudasum --again 12")
	waitText(t, id, "turn 1 of 12: exit status 0")
	sh(t, "", "systemctl daemon-reload; systemctl daemon-reexec; systemctl restart gpusched")
	poll(t, "systemd is back", func() bool { return try(t, "", "systemctl is-active dbus").Code == 0 })
	if j := show(t, "alice", id); j.State != job.Running {
		t.Errorf("the job is %s after the reloads, too early to show anything: %+v", j.State, j.Result)
	}
	mustEnd(t, wait(t, id), job.Completed, "exit code 0")
	out := waitText(t, id, "turn 12 of 12: exit status 0")
	if sums := strings.Count(out, "sum ok"); sums != 12 || strings.Count(out, "exit status 0") != 12 {
		t.Errorf("%d of 12 sums are correct:\n%s", sums, out)
	}
}
