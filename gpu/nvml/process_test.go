package nvml

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpusched/gpusched/gpu"
)

func TestMerge(t *testing.T) {
	const unknown = math.MaxUint64
	info := func(pid uint32, used uint64) nvml.ProcessInfo { return nvml.ProcessInfo{Pid: pid, UsedGpuMemory: used} }
	tests := []struct {
		name  string
		lists []list
		want  []gpu.Process
	}{
		{"nothing", nil, nil},
		{"one", []list{{"compute", []nvml.ProcessInfo{info(7, 5)}}}, []gpu.Process{{PID: 7, Kind: "compute", UsedBytes: 5, UID: -1}}},
		{"two lists tell the same memory", []list{{"compute", []nvml.ProcessInfo{info(7, 5)}}, {"graphics", []nvml.ProcessInfo{info(7, 6)}}},
			[]gpu.Process{{PID: 7, Kind: "compute+graphics", UsedBytes: 6, UID: -1}}},
		{"unknown in one", []list{{"compute", []nvml.ProcessInfo{info(7, unknown)}}, {"mps", []nvml.ProcessInfo{info(7, 6)}}},
			[]gpu.Process{{PID: 7, Kind: "compute+mps", UsedBytes: 6, UID: -1}}},
		{"unknown in all", []list{{"compute", []nvml.ProcessInfo{info(7, unknown)}}}, []gpu.Process{{PID: 7, Kind: "compute", UsedBytes: -1, UID: -1}}},
		{"MIG instances add up", []list{{"compute", []nvml.ProcessInfo{info(7, 5), info(7, 6), info(7, unknown)}}},
			[]gpu.Process{{PID: 7, Kind: "compute", UsedBytes: 11, UID: -1}}},
		{"by pid", []list{{"compute", []nvml.ProcessInfo{info(9, 1), info(7, 1)}}},
			[]gpu.Process{{PID: 7, Kind: "compute", UsedBytes: 1, UID: -1}, {PID: 9, Kind: "compute", UsedBytes: 1, UID: -1}}},
		{"no pid", []list{{"compute", []nvml.ProcessInfo{info(0, 1)}}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := merge(tt.lists); !slices.Equal(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// Invariant 2: even a panic in the binding affects only one GPU.
func TestAPanicAffectsOneGPU(t *testing.T) {
	var has symbols
	for n := range has {
		has[n] = "there"
	}
	r := &reader{has: has, out: blankDevice(3)} // without a library, the first call panics
	d := r.readAll()
	if d.Health != gpu.HealthError || d.Index != 3 || !strings.Contains(d.HealthDetail, "reading the driver's answer") {
		t.Errorf("got %+v", d)
	}
}
