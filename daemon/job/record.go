package job

import (
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// Allocation is a job's part of one GPU.
type Allocation struct {
	contract.GPU

	// ChargeMilli is what counts as used: the share, or the part of the memory where that
	// is more.
	ChargeMilli int    `json:"charge_milli,omitempty"`
	CPUs        string `json:"cpus,omitempty"` // near the GPU, as a list such as 0-15; "" unknown

	// PromisedCPUs is for how many CPUs the job counts with this GPU: its part of those that
	// it asked, or of the GPU's where it named none.
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

// Attempt is one start of a job. While it has no EndedAt it holds its GPUs.
type Attempt struct {
	Number       int          `json:"number"` // from 1
	GPUs         []Allocation `json:"gpus,omitempty"`
	BootID       string       `json:"boot_id,omitempty"`       // of the kernel, and which run of systemd in it
	InvocationID string       `json:"invocation_id,omitempty"` // systemd's name for this run of the unit; "" until it started
	PlacedAt     time.Time    `json:"placed_at"`

	// EligibleAt is from when the wait for it counts: PlacedAt less the time in which it
	// could have started. Zero: unknown, as of a recovered job.
	EligibleAt time.Time `json:"eligible_at,omitzero"`

	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Result    *Result   `json:"result,omitempty"`
	HostUse
}

// CPUs is for how many CPUs the job counts in its latest attempt: so many as it named, or
// what went with its GPUs.
func (j *Job) CPUs() int {
	n := 0
	if j.Attempt != nil {
		for _, g := range j.Attempt.GPUs {
			n += g.PromisedCPUs
		}
	}
	return max(n, j.Request.CPUs)
}

// HostUse is what an attempt used of the host so far, as the kernel counts it.
type HostUse struct {
	PeakMemBytes int64 `json:"peak_mem_bytes,omitempty"` // highest host memory seen by a sample
	CPUTime      Span  `json:"cpu_seconds,omitempty"`
}

// Max returns the more of each.
func (u HostUse) Max(v HostUse) HostUse {
	return HostUse{PeakMemBytes: max(u.PeakMemBytes, v.PeakMemBytes), CPUTime: max(u.CPUTime, v.CPUTime)}
}

// StopCause says why a running job was told to stop.
type StopCause string

// The causes. The empty cause means that nobody asked.
const (
	StopCancel  StopCause = "cancel"
	StopTime    StopCause = "time-limit"
	StopRequeue StopCause = "requeue" // back to the queue, by command
	StopPreempt StopCause = "preempt" // back to the queue, for a job that goes first
	StopGPULost StopCause = "gpu-lost"
	StopGPUMem  StopCause = "gpu-memory" // over its budget, and another job was short of its own
	StopIdle    StopCause = "idle"       // it did not use its GPUs

	StopTaken    StopCause = "gpu-taken"    // it never began: somebody without a job had come to use a GPU of it
	StopTrespass StopCause = "gpu-trespass" // it used a GPU that it does not have
)

// Job is the durable state of one job, without its private payload.
type Job struct {
	ID          ID        `json:"id"`
	Key         string    `json:"key,omitempty"`
	Owner       Owner     `json:"owner"`
	Label       Label     `json:"label"`
	Request     Request   `json:"request"`
	SubmittedAt time.Time `json:"submitted_at"`
	State       State     `json:"state"`
	ChangedAt   time.Time `json:"changed_at"`        // of the state; an end may have been learned later
	Attempt     *Attempt  `json:"attempt,omitempty"` // the current or last attempt
	Result      *Result   `json:"result,omitempty"`  // how the job ended; nil until then

	Life
}

// Life is what the scheduler keeps of a job between its attempts.
type Life struct {
	// From when its wait counts: its submission, or when it was sent to the end of the
	// queue, and later by the time in which it could not have started.
	QueuedAt time.Time `json:"queued_at,omitzero"`

	// What the clock of its account's time at quotas showed then (daemon/sched,
	// Account.Capped), less what QueuedAt has been moved by since.
	Capped time.Duration `json:"capped,omitempty"`

	AwayAt    time.Time     `json:"away_at,omitzero"`    // since when it could not: held, before its begin time or behind another job
	Pending   []Dependency  `json:"pending,omitempty"`   // of Request.After, those not yet met; on record also some that have been since
	Began     bool          `json:"began,omitempty"`     // a command of it has run, in any attempt; of an array: of a task
	Held      string        `json:"held,omitempty"`      // who holds it back; "" nobody
	HeldOver  bool          `json:"held_over,omitempty"` // an administrator does, who is not its owner
	Heir      *Account      `json:"heir,omitempty"`      // it is held as this one has the number of its owner, or Principal
	NotBefore time.Time     `json:"not_before,omitzero"` // the end of its back-off
	Owed      bool          `json:"owed,omitempty"`      // while queued: others were stopped for it
	Guarded   bool          `json:"guarded,omitempty"`   // the current attempt went first since the job had waited long
	Charge    int           `json:"charge,omitempty"`    // for fair share, of the current attempt (core), in thousandths of a GPU
	Shared    int           `json:"shared,omitempty"`    // the same, of GPUs that it shares, while others want these whole; 0: none do
	GPUError  *GPUError     `json:"gpu_error,omitempty"` // of the current or last attempt
	Left      string        `json:"left,omitempty"`      // what of the current or last attempt does not end, for people
	Failures  int           `json:"failures,omitempty"`  // attempts that failed, for Retries
	Tries     int           `json:"tries,omitempty"`     // starts in a row that failed before the current or last attempt
	Requeues  int           `json:"requeues,omitempty"`  // returns to the queue, for any cause, of attempts that began
	Served    time.Duration `json:"served,omitempty"`    // run time of attempts that were stopped and did not fail
	Taught    time.Duration `json:"taught,omitempty"`    // how long it had run, in all, when that last taught something of jobs like it
	Expected  time.Duration `json:"expected,omitempty"`  // run time predicted when it was queued
	Recovered bool          `json:"recovered,omitempty"` // known from its unit only, since the state file was lost: its command is not on record
	Bytes     int64         `json:"bytes,omitempty"`     // of its private part; 0 for a task
	Principal *Account      `json:"principal,omitempty"` // whose limits it counts for, where its owner is a subordinate uid
	GIDs      GIDs          `json:"gids,omitempty"`      // the owner's groups at submit, the first one included; none for a task
	Task      *Task         `json:"task,omitempty"`      // set for a task of an array
	Tasks     *Tasks        `json:"tasks,omitempty"`     // set for an array

	StopOrder
	Suspension
}

// Suspension is whether the current or last attempt is halted, and how long it has been.
type Suspension struct {
	SuspendedAt time.Time     `json:"suspended_at,omitzero"` // zero: it is not halted
	SuspendedBy string        `json:"suspended_by,omitempty"`
	Endless     bool          `json:"suspended_endless,omitempty"` // by an administrator: it does not go on by itself
	Over        bool          `json:"suspended_over,omitempty"`    // by an administrator who is not its owner
	Rested      time.Duration `json:"rested,omitempty"`            // for how long it was, up to its last going on
	Freezes     bool          `json:"freezes,omitempty"`           // it was halted once: its unit may be frozen by us
}

// IsSuspended reports whether the job is halted.
func (s *Suspension) IsSuspended() bool { return !s.SuspendedAt.IsZero() }

// Rest is for how long the attempt has been halted in all.
func (s *Suspension) Rest(now time.Time) time.Duration {
	if s.SuspendedAt.IsZero() {
		return s.Rested
	}
	return s.Rested + max(0, now.Sub(s.SuspendedAt))
}

// GoOn ends the suspension, if there is one.
func (s *Suspension) GoOn(now time.Time) {
	s.Rested = s.Rest(now)
	s.SuspendedAt, s.SuspendedBy = time.Time{}, ""
	s.Endless, s.Over = false, false
}

// StopOrder is what a job was told about its end, or about that of its current or last
// attempt; a new attempt begins without one.
type StopOrder struct {
	Stop    StopCause `json:"-"`                  // why; "": it was not told to stop. The state file has a column for it
	StopBy  string    `json:"-"`                  // by whom, for people; and for this
	StopFor ID        `json:"stop_for,omitempty"` // the job that it makes room for, or that is short of its memory
	StopWhy Message   `json:"stop_why,omitzero"`  // what an array waited for that can't come, and that ends with its last task
	StopAt  time.Time `json:"stop_at,omitzero"`   // when it is stopped, after a warning
	Warned  bool      `json:"warned,omitempty"`   // the current attempt got its warning signal
	WarnsAt time.Time `json:"warns_at,omitzero"`  // before this moment it did not; zero: nothing was sent
	Breach  *Breach   `json:"breach,omitempty"`   // for what it did with a GPU

	// KillAt: what is left of it then gets SIGKILL, before its grace is over.
	KillAt time.Time `json:"kill_at,omitzero"`
}

// PayloadID returns the job under whose id the private payload is kept: a task
// has its array's.
func (j *Job) PayloadID() ID {
	if j.Task != nil {
		return j.Task.Array
	}
	return j.ID
}

// GPUIndexes lists the physical indexes the job holds or held last.
func (j *Job) GPUIndexes() []int {
	if j.Attempt == nil {
		return nil
	}
	list := make([]int, len(j.Attempt.GPUs))
	for i, g := range j.Attempt.GPUs {
		list[i] = g.Index
	}
	return list
}

// GPUControl is what an administrator decided about one GPU. It outlives
// restarts and is keyed by UUID.
type GPUControl struct {
	UUID   string    `json:"uuid"`
	Paused bool      `json:"paused"`          // nothing new on it
	Drain  bool      `json:"drain,omitempty"` // paused in order to be taken out of service
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Until  time.Time `json:"until,omitzero"` // when it ends by itself; zero: never

	Fault GPUFault `json:"fault,omitzero"` // what its errors tell, which nobody decided
}

// EveryGPU is the UUID of the control that keeps all jobs from starting, those without
// a GPU included.
const EveryGPU = "*"

// Say says by whom it is, why, and until when.
func (g *GPUControl) Say() Message {
	what := "paused"
	if g.Drain || g.UUID == EveryGPU {
		what = "drained"
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
