package nvml_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gpusched/gpusched/gpu"
)

// capsRoot makes a stand-in for /proc. The nodes of GPU 0's instance 7 and its compute instance 0 have
// the numbers 30 and 31, and so on.
func capsRoot(t *testing.T, instances ...int) string {
	t.Helper()
	root := t.TempDir()
	for i, gi := range instances {
		dir := filepath.Join(root, fmt.Sprintf("driver/nvidia/capabilities/gpu0/mig/gi%d", gi))
		if err := os.MkdirAll(filepath.Join(dir, "ci0"), 0o755); err != nil {
			t.Fatal(err)
		}
		for j, file := range []string{"access", "ci0/access"} {
			text := fmt.Sprintf("DeviceFileMinor: %d\nDeviceFileMode: 292\nDeviceFileModify: 1\n", 30+10*i+j)
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o444); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

const mig0 = "mig=1 util=50 slices=1g.10gb:7:0,3g.40gb:2:0"

// The slices of a GPU in MIG mode take its place, with indexes after those of all GPUs. Memory and
// processes are each slice's own; utilisation and power are unknown.
func TestSlices(t *testing.T) {
	r := newRig(t).gpus(mig0, "").start(variableProc + "=" + capsRoot(t, 7, 2))
	r.claim(4711, 1070, 5<<20, "ghost")
	s := r.sample()
	d := wellDevices(t, s, 3)
	if d[0].Index != 1 || !d[0].Slice.IsZero() || s.Cards() != 2 || len(s.Links) != 0 {
		t.Errorf("the other GPU is %+v, %d cards, links %v", d[0], s.Cards(), s.Links)
	}
	for i, want := range []gpu.Device{
		{Index: 2, UUID: "MIG-fa4e0000-0000-4007-8000-000000000000", Name: "NVIDIA A100-SXM4-80GB MIG 1g.10gb", MemTotalBytes: 10 << 30,
			MemUsedBytes: 5 << 20, Slice: gpu.Slice{GPUInstance: 7, Caps: [2]int{30, 31}}},
		{Index: 3, UUID: "MIG-fa4e0000-0000-4002-8000-000000000000", Name: "NVIDIA A100-SXM4-80GB MIG 3g.40gb", MemTotalBytes: 40 << 30,
			Slice: gpu.Slice{GPUInstance: 2, Caps: [2]int{40, 41}}},
	} {
		got := d[1+i]
		if got.Index != want.Index || got.UUID != want.UUID || got.Name != want.Name || got.Slice != want.Slice || got.Health != gpu.HealthOK ||
			got.MemTotalBytes != want.MemTotalBytes || got.MemUsedBytes != want.MemUsedBytes || got.MIG || got.Minor != 0 ||
			got.UtilGPUPercent != -1 || got.PowerMilliW != -1 || got.TempC != 34 || len(got.Processes) != 1-i || got.PCI == "" {
			t.Errorf("slice %d: %+v", i, got)
		}
	}
	r.gpus(mig0+" lost=1", "") // what befalls a GPU befalls its slices
	d = r.sample().Devices
	for _, slice := range d[1:] {
		wantHealth(t, slice, gpu.HealthLost, "GPU is lost")
		if slice.UUID == "" || slice.Slice.IsZero() || slice.Name == "" {
			t.Errorf("a lost slice is %+v", slice)
		}
	}
	r.gpus("mig=1 slices=3g.40gb:2:0", "") // an instance was destroyed
	if d = wellDevices(t, r.sample(), 2); d[1].Index != 2 || d[1].Slice.GPUInstance != 2 || d[1].Health != gpu.HealthOK {
		t.Errorf("the slice that is left: %+v", d[1])
	}
	r.gpus("mig=1", "")
	if d = wellDevices(t, r.sample(), 2); d[0].Index != 0 || !d[0].MIG {
		t.Errorf("a GPU in MIG mode without slices: %+v", d[0])
	}
}

// A slice whose nodes are unknown can't be given to a job, but the other slices can.
func TestASliceWithoutNodes(t *testing.T) {
	d := newRig(t).gpus(mig0).start(variableProc + "=" + capsRoot(t, 7)).sample().Devices
	wantHealth(t, d[0], gpu.HealthOK, "")
	wantHealth(t, d[1], gpu.HealthError, "the node that opens the slice is unknown")
}

// With a library that lacks the functions for slices, a GPU in MIG mode is one Device.
func TestSlicesOfAnOldLibrary(t *testing.T) {
	d := wellDevices(t, newRig(t).hide("nvmlDeviceGetGpuInstanceId").gpus(mig0).start().sample(), 1)
	if !d[0].MIG {
		t.Errorf("got %+v", d[0])
	}
}
