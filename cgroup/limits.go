package cgroup

// Limits bound one job's control group. A zero field is no limit.
type Limits struct {
	MemBytes int64  // of memory; swap is not given at all where this is set
	TasksMax uint64 // processes and threads
	CPUs     int    // CPU time per second, in whole CPUs
}
