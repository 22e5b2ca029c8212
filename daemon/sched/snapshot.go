package sched

import (
	"math"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// Instant is a moment in nanoseconds of Unix time. It is a plain number, since passes compare
// thousands of them.
type Instant int64

// Never is later than every moment.
const Never = Instant(math.MaxInt64)

// At returns the Instant of a time.
func At(t time.Time) Instant { return Instant(t.UnixNano()) }

// Time is the inverse of At.
func (i Instant) Time() time.Time { return time.Unix(0, int64(i)) }

// Add returns the moment that is later by d. If it would overflow, Add returns Never.
func (i Instant) Add(d time.Duration) Instant {
	if d > 0 && i > Never-Instant(d) {
		return Never
	}
	return i + Instant(d)
}

// GPUState is the reason why a GPU can take no job, or OK.
type GPUState string

// The states. A GPU in state OK may still be full.
const (
	OK       GPUState = "ok"
	Paused   GPUState = "paused"   // an administrator keeps new jobs off it
	Drained  GPUState = "drained"  // an administrator takes it out of service
	Unknown  GPUState = "unknown"  // the driver has not answered lately
	Lost     GPUState = "lost"     // gone or broken, by the driver's reports
	Sick     GPUState = "sick"     // it needs a reset or an inspection after an error
	Cleaning GPUState = "cleaning" // a job left it, and nobody knows yet whether it is clean
	Suspect  GPUState = "suspect"  // a job left something behind
)

// Hold is one job's part of a GPU.
type Hold struct {
	Job          job.ID
	Milli        int
	PromiseBytes int64 // GPU memory promised to the job; 0: none
	SeenBytes    int64 // GPU memory that the job used in the last sample
	Mates        job.Mates
}

// GPU is one GPU as placement sees it.
type GPU struct {
	Index         int
	Model         string
	State         GPUState
	Detail        job.Message // why the GPU is in this state
	CleaningAfter job.ID      // the job after which the GPU is cleaned
	ReadyAt       Instant     // when the GPU is expected to be OK again; 0: unknown
	MemTotalBytes int64       // without what the driver keeps for itself; 0: unknown
	MemFreeBytes  int64       // as the driver reports it
	UsableBytes   int64       // the part of the total that jobs can have
	SlackBytes    int64       // a share of the GPU's memory may be smaller by this much
	LoadPercent   int         // -1: unknown
	Held          []Hold
	WholeOnly     bool        // jobs get no parts of the GPU
	NoMPS         job.Message // why jobs can't use MPS on the GPU; zero: they can
	Slice         bool        // the GPU is a slice of a GPU in MIG mode; it is then WholeOnly
	OnlyNamed     bool        // the GPU is a slice, and there are whole GPUs: only jobs that name slices get it

	Foreign         bool  // a process that belongs to no job is on the GPU
	ForeignBytes    int64 // the part of these processes' memory that the driver reports
	ForeignComputes bool  // one of these processes computes
	Occupied        bool  // because of these processes, jobs that ask for exclusive whole GPUs do not get the GPU
}

// isUnread reports whether the driver has not reported the GPU's model or memory size yet. An
// example is a GPU that was lost from the beginning.
func (g *GPU) isUnread() bool { return g.Model == "" || g.MemTotalBytes == 0 && g.State == Lost }

// usesHostMemory reports whether the GPU uses only host memory. The driver reports nothing about
// that memory. So none of it can be promised, and no limit on it is checked.
func (g *GPU) usesHostMemory() bool { return g.MemTotalBytes == 0 && !g.isUnread() }

// inService reports whether the GPU serves jobs now, or will do so once it is cleaned.
func (g *GPU) inService() bool { return g.State == OK || g.State == Cleaning || g.State == Suspect }

// freeMem returns the memory that can be promised to a new job. While the GPU is cleaned, what the
// last job used counts as free: no job starts there before it is.
func (g *GPU) freeMem() int64 {
	free, cleaned := g.MemFreeBytes, g.MemTotalBytes-g.ForeignBytes
	for _, h := range g.Held {
		free -= max(0, h.PromiseBytes-h.SeenBytes)
		cleaned -= max(h.PromiseBytes, h.SeenBytes)
	}
	if g.State == Cleaning {
		return max(free, cleaned)
	}
	return free
}

// share returns the part of the GPU that no job has, in thousandths.
func (g *GPU) share() int {
	milli := job.WholeGPU
	for _, h := range g.Held {
		milli -= h.Milli
	}
	return milli
}

// percent returns bytes as a percentage of the GPU's memory.
func (g *GPU) percent(bytes int64) int {
	if g.MemTotalBytes == 0 {
		return 0
	}
	return int(bytes * 100 / g.MemTotalBytes)
}

// knownUse returns the GPU's load and its used memory, or what is known of them at the horizon. A
// load of -1 means unknown. The memory of foreign processes stays in use. When jobs have left the
// GPU, its load is unknown, unless a foreign process computes.
func (g *GPU) knownUse(at horizon) (load int, bytes int64) {
	load, bytes = g.LoadPercent, g.MemTotalBytes-g.MemFreeBytes
	if at == whenNow || at == whenFreed && len(g.Held) == 0 {
		return load, bytes
	}
	if at >= whenAhead || !g.ForeignComputes {
		load = -1
	}
	return load, g.ForeignBytes
}

// Grant is a part of a GPU. The GPU is given by its position in the snapshot.
type Grant struct {
	GPU   int
	Milli int
	Bytes int64 // the promised memory; for a running job, what its end frees: the larger of promise and use
	Mates job.Mates
}

// Running is a job that holds GPUs or host resources.
type Running struct {
	ID            job.ID
	Grants        []Grant
	MemBytes      int64
	CPUs          int           // number of CPUs that the job occupies
	Quota         int           // the GPUs that quotas count for the job, in thousandths
	End           Instant       // expected end; not before Snapshot.Now
	Late          Instant       // the time by which four in five similar jobs have ended; ignored if before End
	Stopping      bool          // the job was told to stop
	Still         Instant       // when the job's suspension ends; Never: unknown; 0: it is not suspended
	Notice        time.Duration // how long the job takes to stop; once it was told to stop, the time left
	Preemptible   bool
	Parks         bool    // other jobs have it parked, Notice is for both copies; if Stopping, it is being parked
	ParkBytes     int64   // host memory for the copy; part of MemBytes once it is being parked
	Returned      Instant // when the job last came back from being parked; 0: it was not parked
	Priority      job.Priority
	Account       *Account
	Since         Instant // Start minus the time for which the job had waited
	Start         Instant
	SuspendedTime time.Duration // for how long since Start the job was suspended
	Expected      time.Duration // run time, including that of earlier attempts
	Effort        time.Duration // see predict.Estimate.Effort; 0: Expected minus the time for which the job has run
	Program       predict.Kind  // user, size and program, without the arguments
	Untried       bool          // too few jobs of this kind have ended to know how long they run
	Served        time.Duration // run time of earlier attempts
	Guarded       bool          // the job was guarded when it started
	Rate          Rate
	Request       *job.Request // the request, for forecasts; nil: after a preemption, the job is not queued again
	Return        *job.Request // if it Parks: what it asks for once it is parked
	Throttle      *Throttle    // the lanes in which the job counts; nil: none
}

// goneBy returns when the job is expected to be gone: at its late end, or at the moment in the
// argument latest if that is earlier. The result is never before the job's expected end.
func (r *Running) goneBy(latest Instant) Instant { return max(r.End, min(r.Late, latest)) }

// milli returns the sum of the job's grants, in thousandths of a GPU.
func (r *Running) milli() (sum int) {
	for _, g := range r.Grants {
		sum += g.Milli
	}
	return sum
}

// runTimeAt returns how long the job will have run at the given moment. It assumes that a suspended
// job continues at once.
func (r *Running) runTimeAt(at Instant) time.Duration {
	return max(0, time.Duration(at-r.Start)-r.SuspendedTime)
}

// sliceStart returns the moment from which the job's time slice counts.
func (r *Running) sliceStart() Instant { return max(r.Start, r.Returned) }

// servedBefore returns how long the job had run when its time slice began.
func (r *Running) servedBefore() time.Duration {
	if r.Returned == 0 {
		return r.Served
	}
	return r.Served + r.runTimeAt(r.Returned)
}

// isParked reports whether the job is parked: it holds no GPU, but its quotas still count its GPUs.
func (r *Running) isParked() bool { return len(r.Grants) == 0 && r.Quota > 0 }

// mayLeave reports whether the job may make room for another one once its slice is over.
func (r *Running) mayLeave() bool { return (r.Preemptible || r.Parks) && !r.Stopping && !r.isParked() }

func (r *Running) hostShare() hostShare {
	if len(r.Grants) == 0 && r.Quota == 0 {
		return hostShare{r.MemBytes, r.CPUs, noGPUSlot}
	}
	return hostShare{r.MemBytes, r.CPUs, gpuSlot}
}

// frees returns what of the host is free once the job is gone. A job that is being parked keeps all
// that it has.
func (r *Running) frees() hostShare {
	if r.Stopping && r.Parks {
		return hostShare{slot: noSlot}
	}
	return r.hostShare()
}

// Host is what the machine has besides GPUs.
type Host struct {
	MemBytes     int64  // memory that can be promised to jobs; 0: unlimited
	PromisedMem  int64  // memory promised to running jobs
	CPUs         int    // CPUs that can be promised to jobs; 0: unlimited
	PromisedCPUs int    // CPUs promised to running jobs
	GPUCPUs      int    // how many CPUs go with all GPUs together, for jobs that name no number of CPUs
	Running      int    // how many jobs have a systemd unit
	MaxRunning   int    // 0: no limit
	NoGPUSlots   int    // part of MaxRunning for all jobs without GPUs; 0: all
	NoGPUMem     int64  // part of MemBytes for all jobs without GPUs; a single such job may have more
	NoGPUCPUs    int    // part of CPUs for all jobs without GPUs; 0: all
	GPUsSeen     bool   // the GPUs have been read since the daemon started
	NoGPUs       string // a sentence: why this machine has no usable GPU; "": it has one, or this is unknown
}

// cpusOf returns the number of CPUs that go with the given part of the machine's GPUs.
func (h *Host) cpusOf(milli, gpus int) int {
	if gpus == 0 {
		return 0
	}
	return h.GPUCPUs * milli / (job.WholeGPU * gpus)
}

// AdvanceReservation keeps GPUs for some accounts during a period.
type AdvanceReservation struct {
	GPUs     []bool // by position
	From, To Instant
	UIDs     []int
	Groups   []string
	Detail   job.Message // for people: for whom, and when
}

// Snapshot is everything on which a plan depends, except the queue. The GPUs are sorted by index.
type Snapshot struct {
	Now       Instant
	Policy    Policy
	GPUs      []GPU
	Machine   uint64  // changes when a GPU comes or goes, or changes its model or size
	Links     []int32 // weight of the link between GPUs a and b at a*len(GPUs)+b; empty: all links are alike
	Running   []Running
	Host      Host
	Reserved  []AdvanceReservation
	End       AdvanceReservation // the planned shutdown of the machine; if there is none, To is 0
	ParkBytes int64              // host memory that is left for copies of parked jobs
	GuardOpen bool               // guarded jobs go first now
	ForStops  time.Duration      // GPU time that stops for jobs of the same class and number may cost now
}

// Placement gives a waiting job its GPUs.
type Placement struct {
	Job     job.ID
	Grants  []Grant // by position
	CPUs    int     // number of CPUs that the job occupies
	Guarded bool    // the job was guarded
}

// Preemption stops a running job for a waiting one.
type Preemption struct {
	Victim, For job.ID
	Park        bool          // the victim is parked, not stopped
	Cost        time.Duration // what it takes of Snapshot.ForStops; 0 for a job of a lower class or number
}

// BackfillReservation is a reservation that a pass made for a job that does not fit.
type BackfillReservation struct {
	Job job.ID
	At  Instant
}

// Plan is what a pass decided. It is valid until the planner's next pass.
type Plan struct {
	Place    []Placement
	Preempt  []Preemption
	Backfill []BackfillReservation
	Wake     Instant // when to plan again if nothing happens before; Never: no such time
}
