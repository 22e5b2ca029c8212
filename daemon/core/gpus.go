package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// gpuBook has what is known of the GPUs, and counts what jobs use of them. Of jobs
// it changes nothing else: Core.applyFindings acts on what it finds.
type gpuBook struct {
	policy *Policy
	jobs   *jobBook      // who holds which GPUs; nothing of it is changed
	boot   func() string // the id of the running one

	devices          []*device           // by index
	cleanups         map[string]*cleanup // from GPUs that are not among them
	controls         map[string]job.GPUControl
	inventoryVersion uint64 // changes with the set of GPUs
	links            []gpu.Link
	problem          gpu.Problem // of the last sample
	detail           string
	driver           string
	cuda             string
	seen             bool                   // any sample has arrived
	lastGoodSample   time.Time              // when the last good sample was taken, by the core's clock
	pendingFaults    []Faulted              // until then
	unkillableOn     map[string][]job.ID    // by GPU: the jobs that hold it and can't be ended
	members          map[process]membership // of the processes on GPUs, those that are known to be of a job
	kernelSeq        uint64                 // the last line of the kernel's log
	persons          map[int]Person         // whose the uids of containers are, of the last sample
	sampleSeq        uint64                 // the number of the last Sample action
	uses             useBuffer
	found            []any // findings that are not applied yet
	announced        map[string]job.GPUNews
}

func newGPUBook(p *Policy, jobs *jobBook, boot func() string) gpuBook {
	return gpuBook{
		policy: p, jobs: jobs, boot: boot,
		cleanups: map[string]*cleanup{}, controls: map[string]job.GPUControl{},
		unkillableOn: map[string][]job.ID{}, members: map[process]membership{}, announced: map[string]job.GPUNews{},
	}
}

// mayHaveSome reports whether there are GPUs, or that is not known yet.
func (b *gpuBook) mayHaveSome() bool { return len(b.devices) > 0 || !b.seen }

// addFinding keeps a finding: one of the types below, an Action, what holds for a GPU from
// now on, or what a job left.
func (b *gpuBook) addFinding(f any) { b.found = append(b.found, f) }

// leftBehind notes what is to be added to the result of an attempt that has ended.
func (b *gpuBook) leftBehind(dep *cleanup, what job.Message) {
	b.addFinding(job.Leftover{Job: dep.job, Attempt: dep.attempt, What: what})
}

// findings returns what has been found since the last time.
func (b *gpuBook) findings() []any {
	found := b.found
	b.found = nil
	return found
}

// errorFound is an error of a GPU that hit a job.
type errorFound struct {
	job  job.ID
	what job.GPUError
}

// noticeFound is what a job's owner is to find in its journal.
type noticeFound struct {
	l   *trackedJob
	say job.Message
}

// useFound is a job of whose use of GPUs something is to be recorded.
type useFound struct{ l *trackedJob }

// stopFound is why a job is to be stopped.
type stopFound struct {
	job    job.ID
	cause  job.StopCause
	breach *job.Breach
	fault  *job.GPUError // the GPU is lost
	victim job.ID        // that is short of memory
}
