package nvml_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/gpu"
)

const uuid0 = "GPU-fa4e0000-0000-4000-8000-000000000000"

func TestSnapshotReadsEverything(t *testing.T) {
	r := newRig(t).gpus("used_mib=3 reserved_mib=600 util=40 temp=55 power_mw=100 limit_mw=300 energy_mj=77 mig=1 rows_pending=1 rows_failed=1 recovery=0 mode=3 pci=0001A000:07:00.0", "")
	sys := t.TempDir()
	slot := filepath.Join(sys, "bus/pci/devices/1a000:07:00.0")
	if err := os.MkdirAll(slot, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(slot, "numa_node"), []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := r.start(variableSys + "=" + sys).sample()
	want := gpu.Device{
		Index: 0, UUID: uuid0, Minor: 0, Name: "NVIDIA A100-SXM4-80GB", PCI: "0001A000:07:00.0", NUMANode: 1, MIG: true, RowsPending: true, RowsFailed: true, Well: true, Health: gpu.HealthOK,
		MemTotalBytes: 81920 << 20, MemUsedBytes: 3 << 20, MemFreeBytes: 81317 << 20, MemReservedBytes: 600 << 20,
		UtilGPUPercent: 40, TempC: 55, PowerMilliW: 100, EnergyMilliJ: 77,
		ComputeMode: "exclusive-process", Processes: []gpu.Process{},
	}
	if d := wellDevices(t, s, 2)[0]; !reflect.DeepEqual(d, want) {
		t.Errorf("got  %+v\nwant %+v", d, want)
	}
	if s.Driver != "580.65.06" || s.NVMLVersion != "13.580.65.06" || s.CUDAVersion != "13.0" || s.TakenUnixNano == 0 {
		t.Errorf("versions %q %q %q, taken %d", s.Driver, s.NVMLVersion, s.CUDAVersion, s.TakenUnixNano)
	}
}

func TestOnlyTheDriverCallsAGPUWell(t *testing.T) {
	for i, d := range wellDevices(t, newRig(t).gpus("recovery=0", "recovery=1", "recovery=4", "").start().sample(), 4) {
		if d.Well != (i == 0) {
			t.Errorf("GPU %d: well %t", i, d.Well)
		}
	}
}

// A GPU with unified memory is well, and reports only the memory of its processes.
func TestUnifiedMemory(t *testing.T) {
	r := newRig(t).gpus("unified=1", "").start()
	r.claim(os.Getpid(), 0, 5<<20)
	d := wellDevices(t, r.sample(), 2)
	if d[0].MemTotalBytes != 0 || d[0].MemFreeBytes != 0 || len(d[0].Processes) != 1 || d[0].Processes[0].UsedBytes != 5<<20 || d[1].MemTotalBytes == 0 {
		t.Errorf("got %+v", d)
	}
}

// The driver reports that a GPU's memory is a NUMA node; older drivers do not.
func TestMemoryThatIsANode(t *testing.T) {
	d := wellDevices(t, newRig(t).gpus("mem_node=2", "").start().sample(), 2)
	if !d[0].MemIsNode || d[1].MemIsNode || d[0].MemTotalBytes == 0 {
		t.Errorf("got %+v", d)
	}
	if d = wellDevices(t, newRig(t).hide("nvmlDeviceGetNumaNodeId").gpus("mem_node=2").start().sample(), 1); d[0].MemIsNode {
		t.Errorf("without the call: %+v", d)
	}
}

func TestSnapshotWithoutGPUs(t *testing.T) {
	wellDevices(t, newRig(t).gpus().start().sample(), 0)
}

func TestProcessesAreMergedAndOwned(t *testing.T) {
	r := newRig(t).start()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	self, dead := os.Getpid(), gone.Process.Pid
	r.claim(self, 1, 5<<20, "kind=compute+graphics+mps")
	r.claim(r.cmd.Process.Pid, 1, 6<<20, "unknown", "kind=mps")
	r.claim(dead, 1, 7<<20, "ghost")
	devices := wellDevices(t, r.sample(), 4)
	me := gpu.OwnerOf("/proc", self)
	want := map[int]gpu.Process{
		self:              {PID: self, Kind: "compute+graphics+mps", UsedBytes: 5 << 20, UID: me.UID, Comm: me.Comm, Unit: me.Unit},
		r.cmd.Process.Pid: {PID: r.cmd.Process.Pid, Kind: "mps", UsedBytes: -1, UID: me.UID, Comm: me.Comm, Unit: me.Unit},
		dead:              {PID: dead, Kind: "compute", UsedBytes: 7 << 20, UID: -1, Dead: true},
	}
	for _, p := range devices[1].Processes {
		if p.Start != gpu.StartOf("/proc", p.PID) || (p.Age > 0) == p.Dead {
			t.Errorf("process %d began at %d, %s ago", p.PID, p.Start, p.Age)
		}
		if p.Start, p.Age = 0, 0; p != want[p.PID] {
			t.Errorf("got %+v, want %+v", p, want[p.PID])
		}
	}
	if n := len(devices[1].Processes); n != 3 || len(devices[0].Processes) != 0 {
		t.Errorf("%d processes on GPU 1, %d on GPU 0", n, len(devices[0].Processes))
	}
	if used := devices[1].MemUsedBytes; used != 18<<20 {
		t.Errorf("%d bytes used", used)
	}
}

func TestManyProcesses(t *testing.T) {
	r := newRig(t).start()
	for pid := range 300 {
		r.claim(1_000_000+pid, 0, 1<<20, "ghost")
	}
	if n := len(wellDevices(t, r.sample(), 4)[0].Processes); n != 300 {
		t.Errorf("%d processes, want 300", n)
	}
}

// A lost GPU does not affect the others (invariant 2).
func TestALostGPUAffectsOnlyItself(t *testing.T) {
	for _, lost := range []string{"lost=1", "lost=2"} {
		t.Run(lost, func(t *testing.T) {
			r := newRig(t).gpus("", "", "").start()
			before := wellDevices(t, r.sample(), 3)
			devices := wellDevices(t, r.gpus("", lost, "").sample(), 3)
			wantHealth(t, devices[0], gpu.HealthOK, "")
			wantHealth(t, devices[1], gpu.HealthLost, "GPU is lost (NVML error 15)")
			wantHealth(t, devices[2], gpu.HealthOK, "")
			if d := devices[1]; d.UUID != before[1].UUID || d.Minor != 1 || d.PCI != before[1].PCI || d.MemTotalBytes != 0 || d.TempC != -1 {
				t.Errorf("the lost GPU is %+v", d)
			}
			wantHealth(t, wellDevices(t, r.gpus("", "", "").sample(), 3)[1], gpu.HealthOK, "")
		})
	}
}

func TestALostGPUThatWasNeverSeen(t *testing.T) {
	d := wellDevices(t, newRig(t).gpus("lost=1", "").start().sample(), 2)[0]
	if d.UUID != "" || d.Minor != -1 || d.Health != gpu.HealthLost {
		t.Errorf("got %+v", d)
	}
}

// After GPUs changed places, no identity appears twice.
func TestIdentitiesAreUnique(t *testing.T) {
	r := newRig(t).gpus("uuid=GPU-a", "uuid=GPU-b").start()
	wellDevices(t, r.sample(), 2)
	devices := wellDevices(t, r.gpus("lost=1", "uuid=GPU-a").sample(), 2)
	if devices[0].UUID != "" || devices[0].Minor != -1 || devices[1].UUID != "GPU-a" {
		t.Errorf("got %q and %q", devices[0].UUID, devices[1].UUID)
	}
}

func TestARefusingGPUAffectsOnlyItself(t *testing.T) {
	devices := wellDevices(t, newRig(t).gpus("error=999", "error=16", "").start().sample(), 3)
	wantHealth(t, devices[0], gpu.HealthError, "Unknown Error (NVML error 999)")
	wantHealth(t, devices[1], gpu.HealthError, "GPU requires reset (NVML error 16)")
	wantHealth(t, devices[2], gpu.HealthOK, "")
}

// A GPU that hangs does not affect the others (invariant 2).
func TestAHangingGPUAffectsOnlyItself(t *testing.T) {
	r := newRig(t).gpus("", "").start(variableTimeout + "=1s")
	settled(r, gpu.HealthOK, gpu.HealthOK)
	r.gpus("", "hang=1")
	for range 3 { // only the first Snapshot waits for the timeout
		devices := settled(r, gpu.HealthOK, gpu.HealthError).Devices
		wantHealth(t, devices[1], gpu.HealthError, "a call into the driver hangs since ")
		if devices[1].Minor != 1 {
			t.Errorf("the hanging GPU is %+v", devices[1])
		}
	}
}

func TestAHangThatEndsIsForgotten(t *testing.T) {
	r := newRig(t).gpus("", "").start(variableTimeout + "=150ms")
	settled(r, gpu.HealthOK, gpu.HealthOK)
	devices := settled(r.gpus("", "slow_ms=400"), gpu.HealthOK, gpu.HealthError).Devices
	wantHealth(t, devices[1], gpu.HealthError, "a call into the driver hangs since ")
	settled(r.gpus("", ""), gpu.HealthOK, gpu.HealthOK)
}

// settled samples until the GPUs are as wanted, or the test times out. While a machine stands
// still, each of its GPUs hangs.
func settled(r *rig, want ...gpu.Health) gpu.Snapshot {
	for {
		var got []gpu.Health
		s := r.sample()
		for _, d := range wellDevices(r.t, s, len(want)) {
			got = append(got, d.Health)
		}
		if slices.Equal(got, want) {
			return s
		}
	}
}

// A look does not ask for the energy, so it finds nothing wrong if only that question hangs. After
// a sample has hung, looks ask for the energy too, and only an answer makes the GPU well.
func TestALookDoesNotClearAHang(t *testing.T) {
	r := newRig(t).gpus("", "").start(variableTimeout + "=1s")
	if d := wellDevices(t, r.look(), 2)[1]; d.EnergyMilliJ == 0 {
		t.Errorf("the first reading is incomplete: %+v", d)
	}
	r.gpus("", "energy_ms=2000")
	if devices := wellDevices(t, r.look(), 2); devices[0].EnergyMilliJ != 0 {
		t.Errorf("a look asked for the energy: %+v", devices[0])
	} else {
		wantHealth(t, devices[1], gpu.HealthOK, "")
	}
	const hangs = "a call into the driver hangs since "
	wantHealth(t, wellDevices(t, r.sample(), 2)[1], gpu.HealthError, hangs)
	for began := time.Now(); time.Since(began) < 3*time.Second; {
		wantHealth(t, wellDevices(t, r.look(), 2)[1], gpu.HealthError, hangs)
	}
	r.gpus("", "")
	devices := wellDevices(t, r.look(), 2)
	for devices[1].Health != gpu.HealthOK { // until the test times out
		devices = wellDevices(t, r.look(), 2)
	}
	if devices[1].EnergyMilliJ == 0 {
		t.Errorf("it is well although the call that hung was not answered: %+v", devices[1])
	}
	if d := wellDevices(t, r.look(), 2)[1]; d.EnergyMilliJ != 0 {
		t.Errorf("the next look asked for the energy: %+v", d)
	}
}

// Only a new initialisation finds a GPU that is back.
func TestRenewsWhileAGPUIsNotWell(t *testing.T) {
	r := newRig(t).gpus("", "").start(variableRenew + "=1ns")
	wellDevices(t, r.sample(), 2)
	wellDevices(t, r.gpus("", "", "").sample(), 2) // all are well, so the library stays initialised
	wellDevices(t, r.sample(), 2)
	wellDevices(t, r.gpus("lost=1", "", "").sample(), 2)
	wellDevices(t, r.gpus("", "", "").sample(), 3)
}

func TestBadStateIsAProblem(t *testing.T) {
	s := newRig(t).gpus("no_such_key=1").start().sample()
	if s.Problem != gpu.ProblemInitFailed || !strings.Contains(s.Detail, "initialising: Unknown Error (NVML error 999)") {
		t.Errorf("problem %q: %s", s.Problem, s.Detail)
	}
}
