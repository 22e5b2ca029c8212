package job

import "time"

// GPURef names one GPU of an attempt. The UUID is its identity; index and
// minor are what they were when the attempt was placed.
type GPURef struct {
	UUID  string `json:"uuid"`
	Index int    `json:"index"`
	Minor int    `json:"minor"`
}

// Attempt is one start of a job. While it has no EndedAt it holds its GPUs.
type Attempt struct {
	Number       int           `json:"number"` // from 1
	GPUs         []GPURef      `json:"gpus,omitempty"`
	BootID       string        `json:"boot_id"`
	InvocationID string        `json:"invocation_id,omitempty"` // systemd's name for this run of the unit; "" until it started
	PlacedAt     time.Time     `json:"placed_at"`
	StartedAt    time.Time     `json:"started_at,omitzero"`
	EndedAt      time.Time     `json:"ended_at,omitzero"`
	Result       *Result       `json:"result,omitempty"`
	PeakMemBytes int64         `json:"peak_mem_bytes,omitempty"` // highest host memory seen by a sample
	CPUTime      time.Duration `json:"cpu_time,omitempty"`
}

// StopCause says why a running job was told to stop.
type StopCause string

// The causes. The empty cause means that nobody asked.
const (
	StopCancel StopCause = "cancel"
	StopTime   StopCause = "time-limit"
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
	ChangedAt   time.Time `json:"changed_at"` // of the state
	Stop        StopCause `json:"stop,omitempty"`
	StopBy      string    `json:"stop_by,omitempty"`
	Attempt     *Attempt  `json:"attempt,omitempty"` // the current or last attempt
	Result      *Result   `json:"result,omitempty"`  // how the job ended; nil until then
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
	Paused bool      `json:"paused"`
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
}
