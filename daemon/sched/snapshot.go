package sched

import "github.com/gpusched/gpusched/daemon/job"

// GPUState is whether a GPU can take a job, and if not, why.
type GPUState string

// The states. Whether a GPU in state OK is free is told by what it holds.
const (
	OK       GPUState = "ok"
	Paused   GPUState = "paused"   // by an administrator
	Unknown  GPUState = "unknown"  // no fresh word from the driver
	Lost     GPUState = "lost"     // the driver says that it is gone or broken
	Cleaning GPUState = "cleaning" // a job left it and the check is not done
	Suspect  GPUState = "suspect"  // a job left it and something of it stayed
)

// Hold is one job's part of a GPU.
type Hold struct {
	Job          job.ID
	Milli        int
	PromiseBytes int64 // GPU memory promised to it, 0 for none
	SeenBytes    int64 // GPU memory it was last seen to use
}

// GPU is one GPU as placement sees it.
type GPU struct {
	Index         int
	Model         string
	State         GPUState
	Detail        string // why it is in this state
	After         job.ID // the job it is cleaned after
	MemTotalBytes int64
	MemFreeBytes  int64 // by the driver's word
	Held          []Hold
	Foreign       bool // a process from outside is on it
}

// free returns the memory that can be promised to a new job.
func (g *GPU) free() int64 {
	free := g.MemFreeBytes
	for _, h := range g.Held {
		free -= max(0, h.PromiseBytes-h.SeenBytes)
	}
	return free
}

// Waiting is one queued job.
type Waiting struct {
	ID      job.ID
	Request *job.Request
}

// Host is what the machine has besides GPUs.
type Host struct {
	MemBytes    int64  // that can be promised to jobs; 0: not counted
	PromisedMem int64  // to running jobs
	Running     int    // jobs that have a unit
	MaxRunning  int    // 0: no limit
	GPUsSeen    bool   // the GPUs have been read since the daemon began
	NoGPUs      string // why this machine has no GPU to use, a sentence; "" when it has or nobody knows
}

// Snapshot is everything a plan depends on. GPUs are in index order, Waiting
// in queue order.
type Snapshot struct {
	GPUs    []GPU
	Waiting []Waiting
	Host    Host
}

// Placement gives a waiting job its GPUs, by position in Snapshot.GPUs.
type Placement struct {
	Job  job.ID
	GPUs []int
}
