package api

import (
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// Parked says how far a job is parked: the driver copies its GPU memory to the host's memory. While
// the job is parked, it has no GPUs; Job.SuspendedAt says since when.
type Parked struct {
	State        job.ParkState `json:"state"`           // parking, parked or unparking
	For          job.ID        `json:"for,omitempty"`   // the job that needed its GPUs
	Wants        bool          `json:"wants,omitempty"` // it waits for its GPUs
	Awake        bool          `json:"awake,omitempty"` // its processes go on without a GPU, and it wants its GPUs when they work
	HostMemBytes int64         `json:"host_mem_bytes"`  // host memory for the copy
	GPUs         []Allocation  `json:"gpus"`            // the GPUs that it goes back to
}

// Halted says since when and why a job is suspended or parked.
func (j *Job) Halted(r words.Reader) string {
	p := j.Parked
	var text job.Message
	switch {
	case p == nil:
		return r.Say(job.Say("detail/suspended", j.SuspendedBy, j.SuspendedAt))
	case p.For != 0:
		text = job.Say("detail/parked-for", p.For, j.SuspendedAt)
	case p.Awake:
		text = job.Say("detail/parked-idle", j.SuspendedAt)
	default:
		text = job.Say("detail/parked", j.SuspendedBy, j.SuspendedAt)
	}
	if p.Wants {
		text = job.Say("detail/parked-wants", text)
	}
	return r.Say(text)
}
