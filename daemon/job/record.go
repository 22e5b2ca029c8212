package job

import (
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// Allocation is a job's part of one GPU.
type Allocation struct {
	contract.GPU

	// ChargeMilli is the amount that counts as used: the larger of the job's share of the GPU and
	// its part of the GPU's memory.
	ChargeMilli int    `json:"charge_milli,omitempty"`
	CPUs        string `json:"cpus,omitempty"` // CPUs near the GPU, as a list such as 0-15; "": unknown

	// PromisedCPUs is the number of CPUs that the job is promised with this GPU: a part of the CPUs
	// that the job asked for or, if it asked for no number, of those that come with the GPU.
	PromisedCPUs int `json:"promised_cpus,omitempty"`

	Use GPUUse `json:"use,omitzero"` // as of the last record
}

// Share returns the job's share of the GPU in milli-GPUs.
func (g Allocation) Share() int {
	if g.Milli == 0 {
		return WholeGPU
	}
	return g.Milli
}

// Attempt is one start of a job. The attempt holds its GPUs until EndedAt is set.
type Attempt struct {
	Number       int          `json:"number"` // counted from 1
	GPUs         []Allocation `json:"gpus,omitempty"`
	BootID       string       `json:"boot_id,omitempty"`       // boot of the kernel, and run of systemd within it
	InvocationID string       `json:"invocation_id,omitempty"` // systemd's id for this run; "": it has not started
	PlacedAt     time.Time    `json:"placed_at"`

	// EligibleAt is PlacedAt minus the time for which the job could have started already. Zero
	// means unknown, as for a recovered job.
	EligibleAt time.Time `json:"eligible_at,omitzero"`

	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Result    *Result   `json:"result,omitempty"`
	HostUse
}

// CPUs returns the number of CPUs that the job's latest attempt is promised: the number that the
// job asked for or the number that came with its GPUs, whichever is larger.
func (j *Job) CPUs() int {
	n := 0
	if j.Attempt != nil {
		for _, g := range j.Attempt.GPUs {
			n += g.PromisedCPUs
		}
	}
	return max(n, j.Request.CPUs)
}

// HostUse is an attempt's use of the host so far, as the kernel counts it.
type HostUse struct {
	PeakMemBytes int64 `json:"peak_mem_bytes,omitempty"` // highest host memory of all samples
	CPUTime      Span  `json:"cpu_seconds,omitempty"`
}

// Max returns the larger of u and v for each value.
func (u HostUse) Max(v HostUse) HostUse {
	return HostUse{PeakMemBytes: max(u.PeakMemBytes, v.PeakMemBytes), CPUTime: max(u.CPUTime, v.CPUTime)}
}

// StopCause is the reason why a running job was told to stop.
type StopCause string

// The causes. An empty cause means that the job was not told to stop.
const (
	StopCancel  StopCause = "cancel"
	StopTime    StopCause = "time-limit"
	StopRequeue StopCause = "requeue" // a user requeued it
	StopPreempt StopCause = "preempt" // requeued to make room for a job that goes first
	StopGPULost StopCause = "gpu-lost"
	StopGPUMem  StopCause = "gpu-memory" // it exceeded its budget while another job lacked promised memory
	StopIdle    StopCause = "idle"       // it did not use its GPUs
	StopPark    StopCause = "park"       // it lost its GPU memory while it was parked

	StopTaken    StopCause = "gpu-taken"     // a foreign process began to use its GPU before the attempt began
	StopMPS      StopCause = "mps-neighbour" // with the jobs that share its GPU through MPS, it was ended by an error
	StopTrespass StopCause = "gpu-trespass"  // it used a GPU that it did not hold
)

// Job is the stored state of one job, without its private payload.
type Job struct {
	ID          ID        `json:"id"`
	Key         string    `json:"key,omitempty"`
	Owner       Owner     `json:"owner"`
	Label       Label     `json:"label"`
	Request     Request   `json:"request"`
	SubmittedAt time.Time `json:"submitted_at"`
	State       State     `json:"state"`
	ChangedAt   time.Time `json:"changed_at"`        // when State changed; the job may have ended before that
	Attempt     *Attempt  `json:"attempt,omitempty"` // the current or last attempt
	Result      *Result   `json:"result,omitempty"`  // how the job ended; nil until then

	Life
}

// Life is what the scheduler keeps about a job across its attempts.
type Life struct {
	// QueuedAt is the start of the counted wait: the submission or the last move to the end of the
	// queue, plus the time for which the job could not have started.
	QueuedAt time.Time `json:"queued_at,omitzero"`

	// Capped is the time for which the account was at its quotas until QueuedAt (Account.Capped of
	// daemon/sched), minus the time by which QueuedAt was postponed.
	Capped time.Duration `json:"capped,omitempty"`

	AwayAt    time.Time     `json:"away_at,omitzero"`    // since when the job may not start: held, too early, or dependent
	Pending   []Dependency  `json:"pending,omitempty"`   // unmet dependencies; on record also some that were met since
	Began     bool          `json:"began,omitempty"`     // its command ran in some attempt; for an array: that of a task
	Held      string        `json:"held,omitempty"`      // who holds it; "": nobody
	HeldOver  bool          `json:"held_over,omitempty"` // an administrator who is not its owner holds it
	Heir      *Account      `json:"heir,omitempty"`      // the account that now has the number of its owner or Principal
	NotBefore time.Time     `json:"not_before,omitzero"` // the end of its back-off
	Owed      bool          `json:"owed,omitempty"`      // while queued: other jobs were preempted for it
	Guarded   bool          `json:"guarded,omitempty"`   // the current attempt went first because the job had waited long
	Charge    int           `json:"charge,omitempty"`    // current attempt's charge for fair share (core), in milli-GPUs
	Shared    int           `json:"shared,omitempty"`    // the charge while others want its shared GPUs whole; 0: nobody
	GPUError  *GPUError     `json:"gpu_error,omitempty"` // in the current or last attempt
	Scratch   string        `json:"scratch,omitempty"`   // directory of the current or last attempt; "": none
	Left      string        `json:"left,omitempty"`      // unkillable processes of the current or last attempt, for people
	Failures  int           `json:"failures,omitempty"`  // number of failed attempts, which count for Retries
	Tries     int           `json:"tries,omitempty"`     // failed starts in a row before the current or last attempt
	Requeues  int           `json:"requeues,omitempty"`  // number of returns to the queue after attempts that began
	Served    time.Duration `json:"served,omitempty"`    // run time of attempts that were stopped and did not fail
	Taught    time.Duration `json:"taught,omitempty"`    // its total run time when it was last used for predictions
	Expected  time.Duration `json:"expected,omitempty"`  // run time predicted when it was queued
	Recovered bool          `json:"recovered,omitempty"` // it was known only from its unit, after a loss of the state file
	Bytes     int64         `json:"bytes,omitempty"`     // size of its private part; 0 for a task
	Principal *Account      `json:"principal,omitempty"` // the account whose limits apply, if its owner is subordinate
	GIDs      GIDs          `json:"gids,omitempty"`      // all groups of the owner at submission; none for a task
	Task      *Task         `json:"task,omitempty"`      // set for a task of an array
	Tasks     *Tasks        `json:"tasks,omitempty"`     // set for an array

	StopOrder
	Suspension
	Parking
	MovedMemory
}

// MovedMemory says how the host memory of the current or last attempt has changed since its start.
type MovedMemory struct {
	MemMoved bool  `json:"mem_moved,omitempty"` // the unit's limit is no longer the one that the unit was made with
	MemHeld  int64 `json:"mem_held,omitempty"`  // what the job counts for until its unit has its lower limit; 0: it has
	MemLent  int64 `json:"mem_lent,omitempty"`  // the part of Request.MemBytes that is lent to other jobs
}

// PromisedMem returns the host memory that a live job counts for.
func (j *Job) PromisedMem() int64 { return max(j.MemHeld, j.Request.MemBytes+j.ParkBytes-j.MemLent) }

// UnitMem returns the limit on the host memory of the job's unit, which holds its copies as well; 0:
// none.
func (j *Job) UnitMem() int64 {
	if j.Request.MemBytes == 0 {
		return 0
	}
	return j.Request.MemBytes + j.ParkBytes
}

// MemSlowed returns the amount of host memory above which the kernel slows the job down; 0: none.
func (j *Job) MemSlowed() int64 {
	if j.MemLent == 0 {
		return 0
	}
	return j.UnitMem() - j.MemLent
}

// Suspension says whether the current or last attempt is suspended, and for how long it was
// suspended.
type Suspension struct {
	SuspendedAt   time.Time     `json:"suspended_at,omitzero"` // zero: it is not suspended
	SuspendedBy   string        `json:"suspended_by,omitempty"`
	Endless       bool          `json:"suspended_endless,omitempty"` // by an administrator: it does not resume by itself
	Over          bool          `json:"suspended_over,omitempty"`    // an administrator suspended another user's job
	SuspendedTime time.Duration `json:"rested,omitempty"`            // its suspended time up to its last resumption
	Freezes       bool          `json:"freezes,omitempty"`           // it was suspended once: its unit may be frozen
}

// IsSuspended reports whether the job is suspended.
func (s *Suspension) IsSuspended() bool { return !s.SuspendedAt.IsZero() }

// SuspendedFor returns the total time for which the attempt has been suspended.
func (s *Suspension) SuspendedFor(now time.Time) time.Duration {
	if s.SuspendedAt.IsZero() {
		return s.SuspendedTime
	}
	return s.SuspendedTime + max(0, now.Sub(s.SuspendedAt))
}

// Resume ends the suspension, if there is one.
func (s *Suspension) Resume(now time.Time) {
	s.SuspendedTime = s.SuspendedFor(now)
	s.SuspendedAt, s.SuspendedBy = time.Time{}, ""
	s.Endless, s.Over = false, false
}

// StopOrder is the order to stop a job's current or last attempt, or the whole job. A new attempt
// begins without an order.
type StopOrder struct {
	Stop    StopCause `json:"-"`                  // why; "": no stop. It has its own column in the state file
	StopBy  string    `json:"-"`                  // who ordered it, for people; it has its own column, too
	StopFor ID        `json:"stop_for,omitempty"` // the job that preempts it, or that lacks promised memory
	StopWhy Message   `json:"stop_why,omitzero"`  // why an array is to end with its last task; what the driver said of parking
	StopAt  time.Time `json:"stop_at,omitzero"`   // when to stop it, after a warning
	Warned  bool      `json:"warned,omitempty"`   // the current attempt got its warning signal
	WarnsAt time.Time `json:"warns_at,omitzero"`  // no warning was sent before this time; zero: none was sent
	Breach  *Breach   `json:"breach,omitempty"`   // the rule about GPU use that it broke

	// KillAt is when the rest of the job gets SIGKILL, if that is before the end of its grace.
	KillAt time.Time `json:"kill_at,omitzero"`
}

// PayloadID returns the id under which the job's private payload is stored. For a task, that is its
// array's id.
func (j *Job) PayloadID() ID {
	if j.Task != nil {
		return j.Task.Array
	}
	return j.ID
}

// GPUIndexes returns the physical indexes of the GPUs that the job holds or held last.
func (j *Job) GPUIndexes() []int {
	if j.Attempt == nil {
		return nil
	}
	return Indexes(j.Attempt.GPUs)
}

// Indexes returns the physical indexes of GPUs.
func Indexes(refs []Allocation) []int {
	return Each(refs, func(g Allocation) int { return g.Index })
}

// GPUControl is what an administrator decided about one GPU. It survives restarts. It is stored
// under the GPU's UUID.
type GPUControl struct {
	UUID   string    `json:"uuid"`
	Paused bool      `json:"paused"`          // no new jobs start on it
	Drain  bool      `json:"drain,omitempty"` // it is paused because it is to be taken out of service
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Until  time.Time `json:"until,omitzero"` // when the pause ends by itself; zero: never

	Reboot *Reboot `json:"reboot,omitempty"` // of EveryGPU: the reboot for which it is drained

	Fault GPUFault `json:"fault,omitzero"` // what its errors require; not an administrator's decision
}

// EveryGPU is the UUID of the control that keeps all jobs from starting, even those without a GPU.
const EveryGPU = "*"

// Say returns who paused or drained the GPU, why, and until when.
func (g *GPUControl) Say() Message {
	what := "paused"
	if g.Drain || g.UUID == EveryGPU {
		what = "drained"
	}
	if g.Reboot != nil {
		what = "drained for a reboot"
	}
	switch until := !g.Until.IsZero(); {
	case until && g.Reason != "":
		return Say("detail/withheld-until", what, g.By, g.Reason, g.Until)
	case until:
		return Say("detail/withheld-bare-until", what, g.By, g.Until)
	case g.Reason != "":
		return Say("detail/withheld", what, g.By, g.Reason)
	}
	return Say("detail/withheld-bare", what, g.By)
}
