package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// gpuBook has what is known of the GPUs, and counts what jobs use of them. Of jobs
// it changes nothing else: what it finds Core.decide acts on.
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
	found    []any // findings that nobody has decided on
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

// note keeps a finding: one of the types below, an Action, what holds for a GPU from
// now on, or what a job left.
func (b *gpuBook) note(f any) { b.found = append(b.found, f) }

// leftBehind notes what is to be added to the result of an attempt that has ended.
func (b *gpuBook) leftBehind(dep *departure, what string) {
	b.note(job.Leftover{Job: dep.job, Attempt: dep.attempt, What: what})
}

// findings returns what has been found since the last time.
func (b *gpuBook) findings() []any {
	found := b.found
	b.found = nil
	return found
}

// hit is an error of a GPU that hit a job.
type hit struct {
	job  job.ID
	what job.GPUError
}

// told is what a job's owner is to find in its journal.
type told struct {
	l    *live
	text string
}

// used is a job of whose use of GPUs something is to be recorded.
type used struct{ l *live }

// toStop is why a job is to be stopped.
type toStop struct {
	job    job.ID
	cause  job.StopCause
	breach *job.Breach
	fault  *job.GPUError // the GPU is lost
	victim job.ID        // that is short of memory
}
