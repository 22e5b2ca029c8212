package gpus

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
)

// Book has what is known of the GPUs, and counts what jobs use of them. Of jobs
// it changes nothing else: Core.applyFindings acts on what it finds.
type Book struct {
	inventory
	cleanups         map[string]*cleanup // from GPUs that are not among the devices
	inventoryVersion uint64              // changes with the set of GPUs
	pendingFaults    []ErrorReport       // until there is a good sample
	sampleSeq        uint64              // the number of the last Sample action
	uses             useBuffer
	found            []any // findings that are not applied yet
	announced        map[string]job.GPUNews
}

// inventory is the GPUs as they are known. Its methods tell; those of Book take something in.
type inventory struct {
	policy *site.Policy
	jobs   *tracked.Book // who holds which GPUs; nothing of it is changed
	boot   func() string // the id of the running one

	Reservations   reservations
	devices        []*device // by index
	controls       map[string]job.GPUControl
	links          []gpu.Link
	last           sampleFacts
	seen           bool                   // any sample has arrived
	lastGoodSample time.Time              // when the last good sample was taken, by the core's clock
	unkillableOn   map[string][]job.ID    // by GPU: the jobs that hold it and can't be ended
	members        map[process]membership // of the processes on GPUs, those that are known to be of a job
	kernelSeq      uint64                 // the last line of the kernel's log
	persons        map[int]Person         // whose the uids of containers are, of the last sample
}

// sampleFacts is what the last sample said of no GPU: driver and cuda as of the last good one.
type sampleFacts struct {
	problem gpu.Problem
	detail  string
	driver  string
	cuda    string
}

func NewBook(p *site.Policy, jobs *tracked.Book, boot func() string) Book {
	return Book{
		inventory: inventory{
			policy: p, jobs: jobs, boot: boot, controls: map[string]job.GPUControl{},
			unkillableOn: map[string][]job.ID{}, members: map[process]membership{},
		},
		cleanups: map[string]*cleanup{}, announced: map[string]job.GPUNews{},
	}
}

// MayHaveSome reports whether there are GPUs, or that is not known yet.
func (b *inventory) MayHaveSome() bool { return len(b.devices) > 0 || !b.seen }

// addFinding keeps a finding: one of the types below, what holds for a GPU from now on
// (job.GPUControl), or what a job left (job.Leftover).
func (b *Book) addFinding(f any) { b.found = append(b.found, f) }

// leftBehind notes what is to be added to the result of an attempt that has ended.
func (b *Book) leftBehind(dep *cleanup, what job.Message) {
	b.addFinding(job.Leftover{Job: dep.job, Attempt: dep.attempt, What: what})
}

// Findings returns what has been found since the last time.
func (b *Book) Findings() []any {
	found := b.found
	b.found = nil
	return found
}

// SampleWanted asks for a look at the GPUs that begins from now on.
type SampleWanted struct{ Number uint64 }

// StrayEnd is a signal for one process that is not in its job's unit, if it is still the one
// of this uid that began then.
type StrayEnd struct {
	job.Stray
	UID    int
	Signal int
}

// ErrorFound is an error of a GPU that hit a job.
type ErrorFound struct {
	Job  job.ID
	What job.GPUError
}

// NoticeFound is what a job's owner is to find in its journal.
type NoticeFound struct {
	Of  *tracked.Job
	Say job.Message
}

// UseFound is a job of whose use of GPUs something is to be recorded.
type UseFound struct{ Of *tracked.Job }

// StopFound is why a job is to be stopped.
type StopFound struct {
	Job    job.ID
	Cause  job.StopCause
	Breach *job.Breach
	Fault  *job.GPUError // the GPU is lost
	Victim job.ID        // that is short of memory
}

// Configured applies a new policy.
func (b *Book) Configured() {
	b.inventoryVersion++
	b.withdraw()
}

// withdraw forgets the GPUs that are no longer on offer, unless a job holds them,
// but not that a job left one.
func (b *Book) withdraw() {
	b.devices = slices.DeleteFunc(b.devices, func(d *device) bool {
		if b.offered(d) || b.jobs.Held(d.UUID) {
			return false
		}
		if d.cleanup != nil {
			d.cleanup.baselineBytes = d.baselineBytes
			b.cleanups[d.UUID] = d.cleanup
		}
		b.inventoryVersion++
		return true
	})
}

// CheckUnkillable verifies that only jobs that do not end are noted as such.
func (b *inventory) CheckUnkillable(breach tracked.Breach) {
	for uuid, ids := range b.unkillableOn {
		for _, id := range ids {
			if l := b.jobs.Active(id); l == nil || l.State != job.Ending || l.Left == "" {
				breach(11, "job %d is noted on GPU %s as one that does not end", id, uuid)
			}
		}
	}
}

// News are the GPUs that have come into service or gone out of it since the last time.
func (b *Book) News(now time.Time) (list []job.Event) {
	for _, d := range b.devices {
		state, why := b.state(d, now)
		n := job.GPUNews{Index: d.Index, UUID: d.UUID, State: job.GPUState(state)}
		if state == sched.OK || state == sched.Cleaning {
			n.State, n.InService, why = "", true, job.Message{}
		}
		if n == b.announced[d.UUID] || d.UUID == "" {
			continue
		}
		b.announced[d.UUID] = n
		news := job.Event{Kind: job.EventGPU, GPU: &n, Why: why}
		if g := b.controls[d.UUID]; g.Paused {
			news.By = g.By // who keeps jobs off it
		}
		list = append(list, news)
	}
	return list
}
