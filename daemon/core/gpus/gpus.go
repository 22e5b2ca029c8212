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

// Book contains what is known about the GPUs, and counts the jobs' use of them. It changes nothing
// else about jobs: Core.applyFindings acts on its findings.
type Book struct {
	inventory
	cleanups         map[string]*cleanup // the cleanups of GPUs that are not among the devices
	inventoryVersion uint64              // changes whenever the set of GPUs changes
	pendingFaults    []ErrorReport       // reports that wait for the first good sample
	sampleSeq        uint64              // the number of the last Sample action
	uses             useBuffer
	excuses          excuses
	found            []any // findings that have not been applied yet
	announced        map[string]job.GPUNews
}

// inventory is what is known about the GPUs. Its own methods only read; the methods of Book change
// it.
type inventory struct {
	policy *site.Policy
	jobs   *tracked.Book // which jobs hold which GPUs; read only
	boot   func() string // returns the id of the running boot

	Reservations   reservations
	devices        []*device // sorted by index
	controls       map[string]job.GPUControl
	links          []gpu.Link
	last           sampleFacts
	seen           bool                   // at least one sample has arrived
	lastGoodSample time.Time              // when the last good sample was taken, by the core's clock
	unkillableOn   map[string][]job.ID    // for each GPU, the jobs that hold it and have processes that survive SIGKILL
	members        map[process]membership // the processes on GPUs that are known to belong to a job
	kernelSeq      uint64                 // the number of the last line of the kernel's log
	persons        map[int]Person         // the person of each uid of a container, from the last sample
	strangers      strangers
}

// sampleFacts are the parts of the last sample that are not about a single GPU. The fields driver
// and cuda come from the last good sample.
type sampleFacts struct {
	problem gpu.Problem
	detail  string
	driver  string
	cuda    string

	versions gpu.DriverVersions
	hasCUDA  bool
	differed bool // an upgraded driver was not loaded, and no later good sample shows it loaded
}

func NewBook(p *site.Policy, jobs *tracked.Book, boot func() string) Book {
	return Book{
		inventory: inventory{
			policy: p, jobs: jobs, boot: boot, controls: map[string]job.GPUControl{},
			unkillableOn: map[string][]job.ID{}, members: map[process]membership{},
			strangers: strangers{of: map[process]*stranger{}, pace: map[int]time.Time{}},
		},
		excuses:  excuses{},
		cleanups: map[string]*cleanup{}, announced: map[string]job.GPUNews{},
	}
}

// MayHaveSome reports whether the machine has GPUs. Until that is known, it returns true.
func (b *inventory) MayHaveSome() bool { return len(b.devices) > 0 || !b.seen }

// addFinding keeps a finding: a value of one of the types below, the new control of a GPU
// (job.GPUControl), or a leftover of a job (job.Leftover).
func (b *Book) addFinding(f any) { b.found = append(b.found, f) }

// addLeftover adds a finding that is a remark for the result of an ended attempt. The attempt of a
// parked job has left its GPUs, but it has no result.
func (b *Book) addLeftover(dep *cleanup, what job.Message) {
	if b.jobs.Attempt(dep.job, dep.attempt) == nil {
		b.addFinding(job.Leftover{Job: dep.job, Attempt: dep.attempt, What: what})
	}
}

// Findings returns the findings since the last call.
func (b *Book) Findings() []any {
	found := b.found
	b.found = nil
	return found
}

// SampleWanted asks for a sample that begins now or later.
type SampleWanted struct{ Number uint64 }

// StrayEnd is a signal to a process that left its job's unit, or to a stranger (the job is then 0).
// The signal is sent only if the process still has this uid and this start time. Moreover, a
// stranger must still be in no job.
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

// NoticeFound is a message for a job's owner, to be written into the job's journal.
type NoticeFound struct {
	Of  *tracked.Job
	Say job.Message
}

// UseFound is a job whose use of GPUs is to be recorded.
type UseFound struct{ Of *tracked.Job }

// StopFound is a job that is to be stopped, with the cause.
type StopFound struct {
	Job    job.ID
	Cause  job.StopCause
	Breach *job.Breach
	Fault  *job.GPUError // set if the cause is a lost GPU
	Victim job.ID        // the job that lacks memory, if that is the cause
}

// ParkFound is a job that is to be parked, because it does not use its GPUs. UnparkFound is a parked
// job that is to get its GPUs back, because one of its processes still uses one. Missed means that the
// process was not parked with the others.
type (
	ParkFound   struct{ Job job.ID }
	UnparkFound struct {
		Job      job.ID
		PID, GPU int
		Missed   bool
	}
)

// Configured makes a new policy take effect.
func (b *Book) Configured() {
	b.inventoryVersion++
	b.withdraw()
}

// withdraw removes GPUs that no job holds or is to get back, if the site no longer offers them or the
// driver now lists them in another form. It keeps the cleanup of each of these GPUs.
func (b *Book) withdraw() {
	b.devices = slices.DeleteFunc(b.devices, func(d *device) bool {
		if b.isOffered(d) && !d.superseded(b.devices) || b.jobs.Held(d.UUID) || b.jobs.Awaited(d.UUID) {
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

// superseded reports whether the driver now lists slices in place of this GPU, or the GPU in place
// of this slice. Otherwise a GPU that is gone counts as lost. So does a slice that is gone while
// other slices are left.
func (d *device) superseded(devices []*device) bool {
	return !d.present && slices.ContainsFunc(devices, func(o *device) bool {
		return o.present && o.Slice.IsZero() != d.Slice.IsZero() && o.At(d.PCI)
	})
}

// openTo returns a running job that can open this GPU although it does not hold it. The job's own
// GPU or slice is gone, but the nodes that its unit may open now lead to this GPU, or to a slice
// that has got these nodes since. If there is no such job, openTo returns 0.
func openTo(b *inventory, d *device) job.ID {
	for _, o := range b.devices {
		again := d.Slice.IsZero() || o.Slice.Caps[0] == d.Slice.Caps[0]
		if o.present || !again || o.UUID == "" || o.UUID == d.UUID || !o.At(d.PCI) {
			continue
		}
		for l := range b.jobs.Live() {
			if b.jobs.Holds(l.ID, o.UUID) {
				return l.ID
			}
		}
	}
	return 0
}

// CheckUnkillable verifies that a job is noted as having processes that survive SIGKILL only if it
// is ending.
func (b *inventory) CheckUnkillable(breach tracked.Breach) {
	for uuid, ids := range b.unkillableOn {
		for _, id := range ids {
			if l := b.jobs.Active(id); l == nil || l.State != job.Ending || l.Left == "" {
				breach(11, "job %d is noted on GPU %s as one that does not end", id, uuid)
			}
		}
	}
}

// News returns the GPUs that have come into service, or gone out of it, since the last call.
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
			news.By = g.By // the administrator who keeps jobs off the GPU
		}
		list = append(list, news)
	}
	return list
}
