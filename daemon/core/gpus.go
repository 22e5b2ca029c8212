package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// gpuBook has what is known of the GPUs.
type gpuBook struct {
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

func newGPUBook() gpuBook {
	return gpuBook{
		departed: map[string]*departure{}, controls: map[string]job.GPUControl{},
		stuckOn: map[string][]job.ID{}, members: map[process]job.ID{},
	}
}
