package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Event is one change, as everybody may see it.
type Event struct {
	Schema string `json:"schema"`
	// Number is one more than that of the event before, over restarts of the daemon as
	// well. Of a gap or a position it is the number after which the next ones follow.
	Number int64         `json:"number"`
	Time   time.Time     `json:"time"`
	Event  job.EventKind `json:"event"`

	Job           job.ID        `json:"job,omitempty"`
	Called        string        `json:"called,omitempty"` // "12", or "7_3" for a task
	Name          string        `json:"name,omitempty"`
	User          string        `json:"user,omitempty"`
	UID           *int          `json:"uid,omitempty"`
	State         job.State     `json:"state,omitempty"` // that the job is in from now on
	Attempt       int           `json:"attempt,omitempty"`
	GPUs          []int         `json:"gpus,omitempty"`           // by index, that it has or had
	Result        *Result       `json:"result,omitempty"`         // of the job or, where it waits again, of its attempt
	StopRequested job.StopCause `json:"stop_requested,omitempty"` // why it is being stopped
	By            string        `json:"by,omitempty"`             // who holds, suspends, stops, pauses, drains or reserves

	GPU         *EventGPU `json:"gpu,omitempty"`
	On          *bool     `json:"on,omitempty"` // drain, reservation: it is in force from now on, or over
	Reservation int64     `json:"reservation,omitempty"`
	Count       int       `json:"count,omitempty"` // of jobs that were forgotten

	Sentence string `json:"sentence"`
}

// EventGPU is a GPU that came into service or went out of it. Which jobs it has is told
// with the jobs.
type EventGPU struct {
	Index     int          `json:"index"` // -1: not known
	UUID      string       `json:"uuid"`
	InService bool         `json:"in_service"`
	State     job.GPUState `json:"state,omitempty"` // why it is not
}
