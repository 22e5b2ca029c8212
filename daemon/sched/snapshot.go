package sched

import (
	"math"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// Instant is a moment in nanoseconds of Unix time. Passes compare thousands of
// them.
type Instant int64

// Never is later than every moment.
const Never = Instant(math.MaxInt64)

// At converts a time.
func At(t time.Time) Instant { return Instant(t.UnixNano()) }

// Time converts back.
func (i Instant) Time() time.Time { return time.Unix(0, int64(i)) }

// Add returns the moment d later, Never where there is none.
func (i Instant) Add(d time.Duration) Instant {
	if d > 0 && i > Never-Instant(d) {
		return Never
	}
	return i + Instant(d)
}

// GPUState is whether a GPU can take a job, and if not, why.
type GPUState string

// The states. Whether a GPU in state OK is free is told by what it holds.
const (
	OK       GPUState = "ok"
	Paused   GPUState = "paused"   // by an administrator
	Drained  GPUState = "drained"  // the same, to be taken out of service
	Unknown  GPUState = "unknown"  // no fresh word from the driver
	Lost     GPUState = "lost"     // the driver says that it is gone or broken
	Sick     GPUState = "sick"     // after an error it needs a reset, or a look
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
	Detail        job.Message // why it is in this state
	CleaningAfter job.ID      // the job it is cleaned after
	ReadyAt       Instant     // when it is expected to be OK again; 0: unknown
	MemTotalBytes int64       // without what the driver keeps for itself; 0: unknown
	MemFreeBytes  int64       // by the driver's word
	UsableBytes   int64       // of the total, what jobs can have
	SlackBytes    int64       // by which a share of the memory may be short
	LoadPercent   int         // -1: unknown
	Held          []Hold
	WholeOnly     bool // no parts of it are given

	Foreign         bool  // a process from outside is on it
	ForeignBytes    int64 // memory of such processes, as far as the driver tells
	ForeignComputes bool  // one of them does
	Occupied        bool  // whoever asks whole GPUs alone can't have it for them
}

// unread reports whether the driver has not said yet what the GPU is, or not how much
// memory it has, as of one that was not well from the beginning.
func (g *GPU) unread() bool { return g.Model == "" || g.MemTotalBytes == 0 && g.State == Lost }

// unified reports whether the GPU has no memory but the host's, of which the driver
// does not tell. Nothing of it can be promised, and no bound of it is checked.
func (g *GPU) unified() bool { return g.MemTotalBytes == 0 && !g.unread() }

// inService reports whether the GPU serves jobs, or will in a moment: it may be cleaned after one.
func (g *GPU) inService() bool { return g.State == OK || g.State == Cleaning || g.State == Suspect }

// free returns the memory that can be promised to a new job.
func (g *GPU) free() int64 {
	free := g.MemFreeBytes
	for _, h := range g.Held {
		free -= max(0, h.PromiseBytes-h.SeenBytes)
	}
	return free
}

// share returns the part of the GPU that is not held, in milli.
func (g *GPU) share() int {
	milli := job.WholeGPU
	for _, h := range g.Held {
		milli -= h.Milli
	}
	return milli
}

// percent is how much of the memory so much is.
func (g *GPU) percent(bytes int64) int {
	if g.MemTotalBytes == 0 {
		return 0
	}
	return int(bytes * 100 / g.MemTotalBytes)
}

// use is the load of the GPU and its memory in use, by anybody, as far as they
// are known to be at that time: what processes from outside use stays as it is.
// Whose the load is, is unknown, so it stays where no job can take it away,
// and may go where one of them computes.
func (g *GPU) use(at horizon) (load int, bytes int64) {
	load, bytes = g.LoadPercent, g.MemTotalBytes-g.MemFreeBytes
	if at == whenNow || at == whenFreed && len(g.Held) == 0 {
		return load, bytes
	}
	if at >= whenAhead || !g.ForeignComputes {
		load = -1
	}
	return load, g.ForeignBytes
}

// Grant is a part of a GPU, which is named by its position in the snapshot.
type Grant struct {
	GPU   int
	Milli int
	Bytes int64 // memory promised; for a running job what it gives back: the promise, or its use where that is more
}

// Running is a job that holds what it asked for.
type Running struct {
	ID          job.ID
	Grants      []Grant
	MemBytes    int64
	CPUs        int           // that it counts for
	Quota       int           // the same in quotas of GPUs
	End         Instant       // expected; not before the snapshot's Now
	Late        Instant       // by when four in five like it will have ended, if after End
	Stopping    bool          // it has been told to stop
	Still       Instant       // it is suspended until then, Never where nobody knows; 0: it is not
	Notice      time.Duration // so long it runs on once told to make room; from now, where it has been
	Preemptible bool
	Priority    job.Priority
	Account     *Account
	Since       Instant // its start less the time it had waited before
	Start       Instant
	Rested      time.Duration // of the time since then, for which it was suspended
	Expected    time.Duration // run time, with that of attempts before this one
	Effort      time.Duration // see predict.Estimate.Effort; 0: what is left of what is expected
	Program     predict.Kind  // user, size and program, without the words of the command
	Untried     bool          // too few of its kind have ended to know them by
	Served      time.Duration // run time of those
	Guarded     bool          // it went first since it had waited long
	Rate        Rate          // that it counts for
	Request     *job.Request  // read by a forecast when it makes room; nil: it does not wait again then
	Throttle    *Throttle     // of its array; nil: none
}

// goneBy is from when GPUs that are kept for another count on what the job holds: late, but
// until some moment, and then as expected.
func (r *Running) goneBy(until Instant) Instant { return max(r.End, min(r.Late, until)) }

// milli is how much of GPUs the job holds.
func (r *Running) milli() (sum int) {
	for _, g := range r.Grants {
		sum += g.Milli
	}
	return sum
}

// ran is for how long the job has run by then: it is taken to go on at once where it is
// suspended.
func (r *Running) ran(at Instant) time.Duration {
	return max(0, time.Duration(at-r.Start)-r.Rested)
}

func (r *Running) hostShare() hostShare { return hostShare{r.MemBytes, r.CPUs} }

// Host is what the machine has besides GPUs.
type Host struct {
	MemBytes     int64  // that can be promised to jobs; 0: not counted
	PromisedMem  int64  // to running jobs
	CPUs         int    // that can be promised to jobs; 0: not counted
	PromisedCPUs int    // to running jobs
	GPUCPUs      int    // of CPUs, for which jobs that have all GPUs and name no CPUs count together
	Running      int    // jobs that have a unit
	MaxRunning   int    // 0: no limit
	NoGPUSlots   int    // of MaxRunning, for jobs that ask no GPU together; 0: all
	NoGPUMem     int64  // of MemBytes, the same; one alone may have more
	NoGPUCPUs    int    // of CPUs, the same; 0: all
	GPUsSeen     bool   // the GPUs have been read since the daemon began
	NoGPUs       string // why this machine has no GPU to use, a sentence; "" when it has or it is not known
}

// cpusOf is how many CPUs go with so much of so many GPUs.
func (h *Host) cpusOf(milli, gpus int) int {
	if gpus == 0 {
		return 0
	}
	return h.GPUCPUs * milli / (job.WholeGPU * gpus)
}

// AdvanceReservation keeps GPUs for some accounts over a time.
type AdvanceReservation struct {
	GPUs     []bool // by position
	From, To Instant
	UIDs     []int
	Groups   []string
	Detail   job.Message // for whom and when
}

// Snapshot is everything a plan depends on besides the queue. GPUs are in index
// order.
type Snapshot struct {
	Now       Instant
	Policy    Policy
	GPUs      []GPU
	Machine   uint64  // changes when a GPU comes, goes or changes its model or size
	Links     []int32 // weight between GPUs a and b at a*len(GPUs)+b; empty: all alike
	Running   []Running
	Host      Host
	Reserved  []AdvanceReservation
	GuardOpen bool // guarded jobs go first now
}

// Placement gives a waiting job its GPUs, by position in Snapshot.GPUs.
type Placement struct {
	Job     job.ID
	Grants  []Grant // by position
	CPUs    int     // that it counts for
	Guarded bool    // it went first since it had waited long
}

// Preemption stops a running job to make room for another.
type Preemption struct{ Victim, For job.ID }

// BackfillReservation is a reservation that the pass made for a job that does not fit.
type BackfillReservation struct {
	Job job.ID
	At  Instant
}

// Plan is what a pass decided. It is valid until the planner's next pass.
type Plan struct {
	Place    []Placement
	Preempt  []Preemption
	Backfill []BackfillReservation
	Wake     Instant // when to plan again if nothing happens before; Never: not
}
