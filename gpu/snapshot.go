package gpu

import "time"

// Snapshot is what the driver said about all GPUs at one moment. Problem other
// than ProblemNone means that nothing is known about any device (Devices is
// then empty), which is not the same as a machine without GPUs.
type Snapshot struct {
	Seq           uint64   `json:"seq"`             // the number of the request this answers
	TakenUnixNano int64    `json:"taken_unix_nano"` // when reading began
	Driver        string   `json:"driver,omitempty"`
	NVMLVersion   string   `json:"nvml_version,omitempty"`
	CUDAVersion   string   `json:"cuda_version,omitempty"` // newest CUDA that the driver can run, "12.4"
	Problem       Problem  `json:"problem,omitempty"`
	Look          bool     `json:"look,omitempty"`   // the energy was not asked for, but of GPUs that were not well
	Detail        string   `json:"detail,omitempty"` // what the library itself said about Problem
	Devices       []Device `json:"devices"`
	Links         []Link   `json:"links,omitempty"` // in order of A, then B; a pair that is not there is unknown
}

// Device is one GPU. Where it is not HealthOK only Index, UUID, Minor, Name and
// PCI can be relied on, as far as they were ever read.
type Device struct {
	Index            int       `json:"index"`                  // NVML's, may change over a reboot
	UUID             string    `json:"uuid"`                   // "GPU-…", the identity; "" if never read
	Minor            int       `json:"minor"`                  // of /dev/nvidia<minor>; -1 unknown
	Name             string    `json:"name"`                   // "NVIDIA A100-SXM4-80GB"
	PCI              string    `json:"pci"`                    // "00000000:07:00.0"
	NUMANode         int       `json:"numa_node"`              // -1 unknown or not a NUMA machine
	CPUs             string    `json:"cpus,omitempty"`         // the CPUs next to it as the kernel lists them, "0-15,32-47"; "" unknown
	MIG              bool      `json:"mig"`                    // MIG mode is on: no job can use the whole GPU
	RowsPending      bool      `json:"rows_pending,omitempty"` // a bad row of its memory waits for a reset to be replaced
	RowsFailed       bool      `json:"rows_failed,omitempty"`  // one could not be replaced: it has no more to spare
	Well             bool      `json:"well,omitempty"`         // the driver says that it needs nothing; false: something, or it does not say
	Health           Health    `json:"health"`
	HealthDetail     string    `json:"health_detail,omitempty"`
	MemTotalBytes    uint64    `json:"mem_total_bytes"` // 0: unknown, as are the other three, since its memory is the host's
	MemUsedBytes     uint64    `json:"mem_used_bytes"`
	MemFreeBytes     uint64    `json:"mem_free_bytes"` // the driver's own figure, never total - used
	MemReservedBytes uint64    `json:"mem_reserved_bytes"`
	MemIsNode        bool      `json:"mem_is_node,omitempty"`    // its memory is a NUMA node (GH200): the kernel gives it out, and keeps some for itself
	UtilGPUPercent   int       `json:"util_gpu_percent"`         // -1 unknown
	TempC            int       `json:"temp_c"`                   // -1 unknown
	PowerMilliW      int64     `json:"power_milli_w"`            // -1 unknown
	EnergyMilliJ     uint64    `json:"energy_milli_j,omitempty"` // used since the driver was loaded; 0 unknown, or not asked for
	ComputeMode      string    `json:"compute_mode,omitempty"`   // "default", "exclusive-process", "prohibited"; "" unknown
	Processes        []Process `json:"processes"`
	ProcessesUnknown bool      `json:"processes_unknown,omitempty"` // Processes is not all of them: the driver does not tell
}

// Process is one process that holds a context on a Device.
type Process struct {
	PID       int    `json:"pid"`
	Kind      string `json:"kind"`       // "compute", "graphics", "mps", joined by "+" where it is several
	UsedBytes int64  `json:"used_bytes"` // -1 unknown
	UID       int    `json:"uid"`        // -1 unknown
	Comm      string `json:"comm,omitempty"`
	Unit      string `json:"unit,omitempty"` // systemd unit by its cgroup; "" if none or dead
	Dead      bool   `json:"dead,omitempty"` // not in /proc: a ghost (or in another pid namespace)

	Start uint64        `json:"start,omitempty"` // in clock ticks since the boot; 0 unknown
	Age   time.Duration `json:"age,omitempty"`   // since then; 0 unknown
}

// The kinds of Process, in the order in which Process.Kind joins them.
const (
	KindCompute  = "compute"
	KindGraphics = "graphics"
	KindMPS      = "mps"
)

// Health says whether a Device answers.
type Health string

const (
	HealthOK    Health = "ok"
	HealthLost  Health = "lost"  // the driver says that it is gone from the bus
	HealthError Health = "error" // a call that every GPU must answer went wrong
)
