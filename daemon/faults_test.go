package daemon_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/gpu/gputest"
	"github.com/gpusched/gpusched/units"
)

// kernel is a kernel log. Each reader gets all errors of this boot.
type kernel struct {
	mu      sync.Mutex
	reports []gpu.XidReport
	more    chan struct{} // closed when an error is added
}

func newKernel() *kernel { return &kernel{more: make(chan struct{})} }

// write adds an error of a GPU to the log.
func (k *kernel) write(t *testing.T, pci, rest string) {
	t.Helper()
	x, ok := gpu.ParseXid("NVRM: Xid (PCI:" + pci + "): " + rest)
	if !ok {
		t.Fatalf("%q is no Xid", rest)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reports = append(k.reports, gpu.XidReport{Xid: x, Seq: uint64(len(k.reports) + 1), At: time.Now()})
	close(k.more)
	k.more = make(chan struct{})
}

func (k *kernel) Run(ctx context.Context, tell func(gpu.XidReport)) {
	for told := 0; ctx.Err() == nil; {
		k.mu.Lock()
		news, more := k.reports[told:], k.more
		k.mu.Unlock()
		for _, r := range news {
			tell(r)
		}
		told += len(news)
		select {
		case <-ctx.Done():
		case <-more:
		}
	}
}

// gpuState returns what 'gpusched gpus' and 'gpusched health' show for a GPU.
func (r *rig) gpuState(index int) (state job.GPUState, check job.Check) {
	v, err := r.d.Query(r.t.Context(), job.Query{})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, c := range r.d.Health(r.t.Context()) {
		if c.Name == fmt.Sprintf("gpu %d", index) {
			check = c
		}
	}
	for _, g := range v.GPUs {
		if g.Index == index {
			state = g.State
		}
	}
	return state, check
}

// TestSickGPU: an error in the kernel log is reported with the job whose process it hit.
// The GPU goes out of service until an administrator puts it back, even if the daemon restarts.
func TestSickGPU(t *testing.T) {
	r := newRig(t, 2, nil)
	first, second := r.submit(1, nil), r.submit(1, nil)
	r.runs(first)
	r.runs(second)
	r.pids[4711] = units.Name(int64(first))
	pci := gputest.A100(0).PCI
	r.kernel.write(t, strings.TrimSuffix(pci, ".0"), "48, pid=4711, name=python, DBE")
	r.waitUntil("the GPU is sick", func() bool { s, _ := r.gpuState(0); return s == "sick" })
	_, check := r.gpuState(0)
	if check.Health != job.Degraded || !strings.Contains(check.Detail, "Xid 48 (double-bit ECC error) in job 1") || !strings.Contains(check.Next, "nvidia-smi -i 0 --gpu-reset") {
		t.Errorf("health says %+v", check)
	}
	r.bus.Exit(units.Name(int64(first)), 1)
	if got := words.Result(r.wait(first).Result); got != "failed: exit code 1; GPU 0 reported Xid 48 (double-bit ECC error)" {
		t.Errorf("result %q", got)
	}
	third := r.submit(1, nil)
	r.restart()
	r.waitUntil("the GPUs are known again", func() bool { s, _ := r.gpuState(0); return s != "" })
	if s, _ := r.gpuState(0); s != "sick" || r.state(third) != job.Queued {
		t.Errorf("after a restart GPU 0 is %s and the job that waits for it %s", s, r.state(third))
	}
	if err := r.d.Do(t.Context(), job.Actor{Admin: true, User: "root"}, job.Command{Kind: job.CommandResumeGPU, GPU: 0}); err != nil {
		t.Fatal(err)
	}
	r.runs(third)
	if s, c := r.gpuState(0); s != "busy" || c.Name != "" {
		t.Errorf("GPU 0 is %s, %+v", s, c)
	}
	r.pids[4712] = units.Name(int64(third))
	r.restart()
	r.kernel.write(t, strings.TrimSuffix(pci, ".0"), "31, pid=4712, name=python, MMU Fault")
	r.waitUntil("all of the log is read again", func() bool {
		v, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{third}})
		return err == nil && v.Jobs[0].GPUError != nil
	})
	if s, _ := r.gpuState(0); s != "busy" {
		t.Errorf("after another restart GPU 0 is %s", s)
	}
}

// TestRowsFailed: a GPU whose memory has no spare rows left is reported, and still takes jobs.
func TestRowsFailed(t *testing.T) {
	r := newRig(t, 1, nil)
	r.gpus.Change(0, func(d *gpu.Device) { d.RowsFailed = true })
	r.restart() // the new daemon samples the GPUs at once
	r.runs(r.submit(1, nil))
	r.waitUntil("health tells", func() bool {
		for _, c := range r.d.Health(t.Context()) {
			if c.Name == "gpu 0 memory" && c.Health == job.Degraded && strings.Contains(c.Next, "gpusched gpu drain 0") {
				return true
			}
		}
		return false
	})
}

// A compute mode that makes jobs fail is reported, with the command that corrects it.
func TestComputeMode(t *testing.T) {
	r := newRig(t, 2, nil)
	r.gpus.Change(1, func(d *gpu.Device) { d.ComputeMode = "prohibited" })
	r.restart() // the new daemon samples the GPUs at once
	r.waitUntil("health tells", func() bool {
		told := false
		for _, c := range r.d.Health(t.Context()) {
			told = told || c.Name == "gpu 1 mode" && c.Health == job.Degraded && c.Next == "nvidia-smi -i 1 -c DEFAULT"
			if c.Name == "gpu 0 mode" {
				t.Errorf("the other GPU: %+v", c)
			}
		}
		return told
	})
}
