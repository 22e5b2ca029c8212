package units

import (
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units/contract"
)

// Spec is all that a job's unit is made of. It has no place for a command, an
// environment or a directory (invariant 2).
type Spec struct {
	Scope   Scope // of the systemd that has the unit
	ID      int64
	Attempt int       // from 1
	Placed  time.Time // when the attempt got its GPUs
	UID     int
	GID     int    // 0: the account's own group, as the host knows it at start
	User    string // for people to read
	JobName string // public by design: it is in the unit's description
	Array   int64  // the array that the job is a task of; 0: none
	Task    int    // its index there

	GPUs    []contract.GPU  // of this attempt; none: a job without GPUs
	Devices []cgroup.Device // more nodes that the site lets jobs open
	Limits  cgroup.Limits
	Rlimits []contract.Limit

	CPUShare    int    // for how many it counts: its part of the time where its user's jobs want more than there is
	CPUAffinity string // the CPUs it runs on, "0-15,32"; "": all. One must exist, or the start fails: see package cpuset

	// TimeLimit is for the record alone: the daemon keeps it. It can be changed while
	// the job runs, and does not count while that is suspended; systemd's own can't be
	// moved, and goes on for a frozen unit.
	TimeLimit time.Duration
	Grace     time.Duration // between SIGTERM and SIGKILL
	TermMain  bool          // SIGTERM is for the main process alone

	Launcher string // absolute path of gpusched-job
	SpecPath string // absolute path of the job's private instructions
	Check    bool   // the launcher runs once before the job's, to show that it lives in such a unit
	Screen   bool   // a session of GNU screen is to leave nothing behind
	Log      bool   // a process of the unit copies what is printed to a file
}
