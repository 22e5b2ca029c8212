package gpu

import "time"

// A Snapshot is the driver's answer about all GPUs at one moment. If it has a Problem, nothing is
// known about any device. Devices is then empty, although the machine may have GPUs.
type Snapshot struct {
	Seq           uint64   `json:"seq"`             // number of the request
	TakenUnixNano int64    `json:"taken_unix_nano"` // when reading began
	Driver        string   `json:"driver,omitempty"`
	NVMLVersion   string   `json:"nvml_version,omitempty"`
	CUDAVersion   string   `json:"cuda_version,omitempty"` // newest CUDA version that the driver supports, such as "12.4"
	Problem       Problem  `json:"problem,omitempty"`
	Look          bool     `json:"look,omitempty"`   // the energy was read only from GPUs that were not well
	Detail        string   `json:"detail,omitempty"` // the library's own message about Problem
	Devices       []Device `json:"devices"`
	Links         []Link   `json:"links,omitempty"` // ordered by A, then B; missing pairs are unknown
}

// A Device is one GPU, or one slice of a GPU in MIG mode. A GPU that has slices is not a Device: its
// slices take its place, with indexes after those of all GPUs. If its Health is not HealthOK, only
// Index, UUID, Minor, Name, PCI and Slice are valid, and only if they were ever read.
type Device struct {
	Index            int       `json:"index"`                  // NVML's index, which may change at a reboot
	UUID             string    `json:"uuid"`                   // "GPU-…" or "MIG-…", which identifies the GPU; "" if never read
	Minor            int       `json:"minor"`                  // number of /dev/nvidia<minor>, -1 if unknown
	Name             string    `json:"name"`                   // "NVIDIA A100-SXM4-80GB"
	PCI              string    `json:"pci"`                    // "00000000:07:00.0"
	NUMANode         int       `json:"numa_node"`              // -1 if unknown or not a NUMA machine
	CPUs             string    `json:"cpus,omitempty"`         // CPUs near the GPU in the kernel's format, "0-15,32-47"; "" if unknown
	MIG              bool      `json:"mig"`                    // MIG mode is on, and there are no slices
	Slice            Slice     `json:"slice,omitzero"`         // of a GPU in MIG mode; zero: the Device is a whole GPU
	RowsPending      bool      `json:"rows_pending,omitempty"` // a bad memory row will be replaced at the next reset
	RowsFailed       bool      `json:"rows_failed,omitempty"`  // a bad memory row could not be replaced: no spare rows are left
	Well             bool      `json:"well,omitempty"`         // the driver says that the GPU needs no recovery; false if it does not say
	Health           Health    `json:"health"`
	HealthDetail     string    `json:"health_detail,omitempty"`
	MemTotalBytes    uint64    `json:"mem_total_bytes"` // 0: unknown, because the GPU uses the host's memory; likewise the next 3 fields
	MemUsedBytes     uint64    `json:"mem_used_bytes"`
	MemFreeBytes     uint64    `json:"mem_free_bytes"` // as the driver reports it, not total - used
	MemReservedBytes uint64    `json:"mem_reserved_bytes"`
	MemIsNode        bool      `json:"mem_is_node,omitempty"`    // the memory is a NUMA node (GH200) of the kernel, which keeps part of it
	UtilGPUPercent   int       `json:"util_gpu_percent"`         // -1 if unknown
	TempC            int       `json:"temp_c"`                   // -1 if unknown
	PowerMilliW      int64     `json:"power_milli_w"`            // -1 if unknown
	EnergyMilliJ     uint64    `json:"energy_milli_j,omitempty"` // used since the driver was loaded; 0 if unknown or not requested
	ComputeMode      string    `json:"compute_mode,omitempty"`   // "default", "exclusive-process", "prohibited", or "" if unknown
	Processes        []Process `json:"processes"`
	ProcessesUnknown bool      `json:"processes_unknown,omitempty"` // the driver does not report all processes
}

// A Slice says which part of a GPU in MIG mode a Device is: one of its compute instances. NVML and
// CUDA treat each of them as a GPU of its own ("MIG device").
type Slice struct {
	Card            int    `json:"card"`             // NVML's index of the GPU
	GPUInstance     int    `json:"gpu_instance"`     // its number on the GPU
	ComputeInstance int    `json:"compute_instance"` // its number in the GPU instance
	Caps            [2]int `json:"caps"`             // nodes of both instances in /dev/nvidia-caps; -1: unknown
}

// IsZero reports whether the Device is a whole GPU. The number of a node is never 0.
func (s Slice) IsZero() bool { return s == Slice{} }

// A Process is a process with a context on a Device.
type Process struct {
	PID       int    `json:"pid"`
	Kind      string `json:"kind"`       // "compute", "graphics", "mps", or several joined by "+"
	UsedBytes int64  `json:"used_bytes"` // -1 if unknown
	UID       int    `json:"uid"`        // -1 if unknown
	Comm      string `json:"comm,omitempty"`
	Unit      string `json:"unit,omitempty"` // systemd unit of its control group; "" if it has none or is dead
	Dead      bool   `json:"dead,omitempty"` // not in /proc: it has ended, or is in another pid namespace

	Start uint64        `json:"start,omitempty"` // clock ticks since boot, 0 if unknown
	Age   time.Duration `json:"age,omitempty"`   // time since Start, 0 if unknown
}

// The kinds of a Process, in the order in which Process.Kind joins them.
const (
	KindCompute  = "compute"
	KindGraphics = "graphics"
	KindMPS      = "mps"
)

// Health is the state of a Device.
type Health string

const (
	HealthOK    Health = "ok"
	HealthLost  Health = "lost"  // the driver says that the GPU has fallen off the bus
	HealthError Health = "error" // a call that every GPU must answer failed
)

// Cards returns the number of GPUs, where all slices of a GPU count as one.
func (s *Snapshot) Cards() int {
	n, sliced := 0, map[int]bool{}
	for i := range s.Devices {
		if slice := s.Devices[i].Slice; slice.IsZero() {
			n++
		} else {
			sliced[slice.Card] = true
		}
	}
	return n + len(sliced)
}
