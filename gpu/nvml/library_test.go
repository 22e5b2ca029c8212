package nvml_test

import (
	"os"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/gpu/nvml"
)

// A Snapshot uses a library that was missing before (invariant 4).
func TestALibraryThatAppears(t *testing.T) {
	r := newRig(t)
	there := r.lib
	away := there + ".away"
	if err := os.Rename(there, away); err != nil {
		t.Fatal(err)
	}
	r.start()
	for range 2 {
		s := r.sample()
		if s.Problem != gpu.ProblemLibraryMissing || !strings.Contains(s.Detail, "No such file") {
			t.Fatalf("problem %q: %s", s.Problem, s.Detail)
		}
	}
	if err := os.Rename(away, there); err != nil {
		t.Fatal(err)
	}
	wellDevices(t, r.sample(), 4)
}

// A Snapshot uses a driver that was missing before (invariant 4).
func TestADriverThatAppears(t *testing.T) {
	tests := []struct {
		code    string
		problem gpu.Problem
		detail  string
	}{
		{"9", gpu.ProblemDriverMissing, "Driver Not Loaded (NVML error 9)"},
		{"18", gpu.ProblemInitFailed, "Driver/library version mismatch (NVML error 18)"},
		{"4", gpu.ProblemInitFailed, "Insufficient Permissions (NVML error 4)"},
		{"12", gpu.ProblemLibraryMissing, "NVML error 12"},
	}
	r := newRig(t).start(variableStay + "=1")
	for _, tt := range tests {
		r.init(tt.code)
		s := r.sample()
		if s.Problem != tt.problem || !strings.Contains(s.Detail, tt.detail) || len(s.Devices) != 0 {
			t.Errorf("init %s: problem %q: %s", tt.code, s.Problem, s.Detail)
		}
	}
	r.init("0")
	wellDevices(t, r.sample(), 4)
}

// Invariant 3: if the library refuses to work, the process ends.
func TestARefusingLibraryNeedsARestart(t *testing.T) {
	r := newRig(t).start()
	r.init("18")
	r.sample()
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("ended with %v, want success", err)
	}
}

// Invariant 1: if the library lacks a function, only that fails which Symbols names for the
// function.
func TestMissingSymbols(t *testing.T) {
	built := newRig(t)
	lib := nvml.Open(nvml.Options{Path: built.lib})
	symbols, err := lib.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, symbol := range symbols {
		t.Run(symbol.Name, func(t *testing.T) {
			r := &rig{t: t, lib: built.lib, state: built.state}
			s := r.hide(versions(symbol.Name)...).start().sample()
			if symbol.Loss == "" {
				if s.Problem != gpu.ProblemUnsupported || !strings.Contains(s.Detail, "lacks "+symbol.Name) {
					t.Errorf("problem %q: %s", s.Problem, s.Detail)
				}
				return
			}
			for _, d := range wellDevices(t, s, 4) {
				if d.Health != gpu.HealthOK || d.MemTotalBytes == 0 {
					t.Errorf("GPU %d is %s: %s", d.Index, d.Health, d.HealthDetail)
				}
			}
		})
	}
}

// versions returns the names of a function that has several versions, newest first.
func versions(name string) []string {
	base, version, ok := strings.Cut(name, "_v")
	switch {
	case !ok || base == "nvmlDeviceGetMemoryInfo" || base == "nvmlSystemGetCudaDriverVersion":
		return []string{name}
	case version == "3":
		return []string{base + "_v3", base + "_v2", base}
	default:
		return []string{base + "_v2", base}
	}
}

// Invariant 1: older libraries have only older versions.
func TestOlderVersionsOfFunctions(t *testing.T) {
	newer := []string{"nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetMemoryInfo_v2"}
	for _, n := range []string{"Compute", "Graphics", "MPSCompute"} {
		newer = append(newer, "nvmlDeviceGet"+n+"RunningProcesses_v3", "nvmlDeviceGet"+n+"RunningProcesses_v2")
	}
	r := newRig(t).hide(newer...)
	r.start()
	r.claim(os.Getpid(), 0, 5<<20, "kind=compute+mps")
	d := wellDevices(t, r.sample(), 4)[0]
	if len(d.Processes) != 1 || d.Processes[0].Kind != "compute+mps" || d.Processes[0].UsedBytes != 5<<20 {
		t.Errorf("processes %+v", d.Processes)
	}
	// Version 1 counts reserved memory as used.
	if d.MemUsedBytes != 705<<20 || d.MemReservedBytes != 0 || d.MemFreeBytes != (81920-705)<<20 || d.PCI == "" {
		t.Errorf("got %+v", d)
	}
}

// The process lists of drivers that write past the buffer are not read (invariant 5).
func TestDriversThatOverrunTheList(t *testing.T) {
	r := newRig(t).hide("nvmlDeviceGetRunningProcessDetailList")
	r.start()
	r.claim(os.Getpid(), 0, 5<<20)
	d := wellDevices(t, r.sample(), 4)[0]
	wantHealth(t, d, gpu.HealthOK, "drivers 535.43 to 535.86")
	if len(d.Processes) != 0 || !d.ProcessesUnknown || d.MemUsedBytes != 5<<20 {
		t.Errorf("got %+v", d)
	}
}

// Without the list of computing processes, a GPU's processes are unknown. The other lists may be
// missing.
func TestUnknownProcesses(t *testing.T) {
	for kind, unknown := range map[string]bool{"Compute": true, "Graphics": false, "MPSCompute": false} {
		name := "nvmlDeviceGet" + kind + "RunningProcesses"
		r := newRig(t).hide(name+"_v3", name+"_v2", name)
		r.start()
		if d := wellDevices(t, r.sample(), 4)[0]; d.ProcessesUnknown != unknown {
			t.Errorf("without %s: %+v", name, d)
		}
	}
}

func TestNotALibrary(t *testing.T) {
	r := newRig(t)
	if err := os.WriteFile(r.lib, []byte("not a library"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s := r.start().sample(); s.Problem != gpu.ProblemLibraryMissing {
		t.Errorf("problem %q: %s", s.Problem, s.Detail)
	}
	if _, err := nvml.Open(nvml.Options{Path: r.lib}).Symbols(); err == nil {
		t.Error("symbols of no library")
	}
}
