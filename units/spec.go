package units

import (
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units/contract"
)

// Spec is all that a job's unit is made of. It has no place for a command, an
// environment or a directory (invariant 2).
type Spec struct {
	ID      int64
	Attempt int       // from 1
	Placed  time.Time // when the attempt got its GPUs
	UID     int
	GID     int    // 0: the account's own group, as the host knows it at start
	User    string // for people to read
	JobName string // public by design: it is in the unit's description

	GPUs    []contract.GPU  // of this attempt; none: a job without GPUs
	Devices []cgroup.Device // more nodes that the site lets jobs open
	Limits  cgroup.Limits
	Rlimits []contract.Limit

	CPUAffinity string // the CPUs it runs on, "0-15,32"; "": all. One must exist, or the start fails: see package cpuset

	MaxRuntime time.Duration // backstop behind the daemon's own limit; 0: none
	Grace      time.Duration // between SIGTERM and SIGKILL

	Launcher string // absolute path of gpusched-job
	SpecPath string // absolute path of the job's private instructions
}
