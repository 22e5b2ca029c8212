package units

import (
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units/contract"
)

// Spec describes a job's unit completely. It has no field for a command, an environment or a
// directory (invariant 2).
type Spec struct {
	Scope   Scope // of the systemd that runs the unit
	ID      int64
	Attempt int       // from 1
	Placed  time.Time // when the attempt got its GPUs
	UID     int
	GID     int    // 0: the account's own group, as the host knows it at start
	User    string // for display
	JobName string // public: it is in the unit's description
	Array   int64  // the array that the job is a task of; 0: none
	Task    int    // the job's index in that array

	Engine contract.Engine // of the container in which the command runs; "": none

	MPS bool // the job shares its GPU with jobs of its user through MPS

	GPUs    []contract.GPU  // of this attempt; empty: a job without GPUs
	Devices []cgroup.Device // further nodes that the site lets jobs open
	Limits  cgroup.Limits
	Rlimits []contract.Limit

	CPUShare    int    // the more CPUs, the larger the job's share of CPU time while the jobs of its user compete
	CPUAffinity string // the CPUs that the job may use, "0-15,32"; "": all. The start fails if none exists: see cpuset

	// TimeLimit is only recorded in the unit; the daemon enforces it. It can change while the job
	// runs, and does not count suspended time. systemd's own limit can't be changed, and counts the
	// time in which a unit is frozen.
	TimeLimit time.Duration
	Grace     time.Duration // between SIGTERM and SIGKILL
	TermMain  bool          // only the main process gets SIGTERM

	Launcher string // absolute path of gpusched-job
	SpecPath string // absolute path of the launcher's private spec
	Check    bool   // run the launcher once before the job, to show that the launcher works in such a unit
	Screen   bool   // remove the leftovers of a GNU screen session
	Log      bool   // a process of the unit copies the output to a file
}
