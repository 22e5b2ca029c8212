package units

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units/contract"
)

// ParkSpec describes the unit that makes the driver copy the GPU memory of a job's processes to the
// host, or back.
type ParkSpec struct {
	Job       int64
	Attempt   int
	UID       int  // the job's owner
	Back      bool // copy to the GPUs
	Processes []string
	Moves     []string // from GPUs to others, on the way back
	Bytes     int64    // how much there is to copy
	GPUs      []contract.GPU
	Devices   []cgroup.Device // further devices that CUDA needs
	Program   string          // absolute path of gpusched-nvml
}

// Limits of the unit. The driver needs more than a second for parkSpeed bytes only if the host
// swaps.
const (
	parkTime  = time.Minute
	parkSpeed = 256 << 20
	parkGrace = time.Second
)

// capSysPtrace is the capability to control other processes.
const capSysPtrace = uint64(1) << 19

// ParkName returns the name of the unit. If a unit of an earlier attempt hangs, it does not count for
// this one.
func ParkName(s ParkSpec) string {
	prefix := contract.ParkPrefix
	if s.Back {
		prefix = contract.UnparkPrefix
	}
	return fmt.Sprintf("%s%d-%d%s", prefix, s.Job, s.Attempt, contract.UnitSuffix)
}

// ParkTime returns the time after which systemd ends the unit.
func ParkTime(s ParkSpec) time.Duration {
	return parkTime + time.Duration(s.Bytes/parkSpeed)*time.Second
}

// ParkProperties returns the properties of the unit. The unit runs as the job's user, and may
// control processes. The kernel keeps the user's other processes from controlling it, since they
// lack that capability. It can open no GPU but the job's, and reads no file of the user. CUDA must
// find no server of MPS: by default, it would trust whoever made /tmp/nvidia-mps.
func ParkProperties(s ParkSpec) []Property {
	about, flag := "gpusched parking of job %d", "--park"
	if s.Back {
		about, flag = "gpusched unparking of job %d", "--unpark"
	}
	e := errand{
		about: fmt.Sprintf(about, s.Job), command: slices.Concat([]string{s.Program, flag}, s.Processes, s.Moves), log: "gpusched-park",
		time: ParkTime(s), grace: parkGrace, memory: proofMemory, tasks: proofTasks,
	}
	p := append(e.properties(), []Property{
		{"Environment", []string{"HOME=/", "CUDA_CACHE_DISABLE=1", "CUDA_MPS_PIPE_DIRECTORY=/nonexistent"}},
		{"StandardInput", "null"},
		{"NoNewPrivileges", true},
		{"User", strconv.Itoa(s.UID)},
		{"AmbientCapabilities", capSysPtrace},
		{"CapabilityBoundingSet", capSysPtrace},
	}...)
	return append(p, devices(Spec{GPUs: s.GPUs, Devices: s.Devices})...)
}
