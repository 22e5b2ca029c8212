package cgroup

// Limits are the limits of a job's control group. A zero field means no limit.
type Limits struct {
	MemBytes int64  // bytes of memory; if set, no swap is allowed
	TasksMax uint64 // number of processes and threads
	CPUs     int    // CPU time per second, in CPUs
}
