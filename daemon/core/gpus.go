package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// gpuBook has what is known of the GPUs.
type gpuBook struct {
	policy *Policy
	jobs   holders
	boot   func() string // the id of the running one

	devices  []*device             // by index
	departed map[string]*departure // from GPUs that are not among them
	controls map[string]job.GPUControl
	machine  uint64 // changes with the set of GPUs
	links    []gpu.Link
	problem  gpu.Problem // of the last sample
	detail   string
	driver   string
	cuda     string
	seen     bool                // any sample has arrived
	taken    time.Time           // when the last good sample was taken, by the core's clock
	early    []Faulted           // until then
	stuckOn  map[string][]job.ID // by GPU: the jobs that hold it and can't be ended
	members  map[process]job.ID  // of the processes on GPUs, those that are known to be of a job
	heard    uint64              // the last line of the kernel's log
	asked    uint64              // the number of the last Sample action
	watcher  watcher
}

// holders is what the book reads of the jobs: who holds which GPUs.
type holders interface {
	active(job.ID) *live
	activeIDs() []job.ID
	called(job.ID) string
	holds(id job.ID, uuid string) bool
	held(uuid string) bool
	shareHeld(uuid string) int
}

func newGPUBook(p *Policy, jobs holders, boot func() string) gpuBook {
	return gpuBook{
		policy: p, jobs: jobs, boot: boot,
		departed: map[string]*departure{}, controls: map[string]job.GPUControl{},
		stuckOn: map[string][]job.ID{}, members: map[process]job.ID{},
	}
}
