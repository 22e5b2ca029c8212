package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// GPU is one GPU, together with an administrator's orders about it.
type GPU struct {
	job.GPU
	Host         string      `json:"host,omitempty"` // machine of the GPU, if the user named several machines
	Engine       string      `json:"-"`              // see Job.Engine
	StateDetail  string      `json:"state_detail,omitempty"`
	StateWhy     job.Message `json:"state_why,omitzero"` // StateDetail as a code with arguments
	Paused       bool        `json:"paused"`
	PausedReason string      `json:"paused_reason,omitempty"`
	PausedBy     string      `json:"paused_by,omitempty"`
	PausedAt     time.Time   `json:"paused_at,omitzero"`
	PausedUntil  time.Time   `json:"paused_until,omitzero"` // absent: the pause lasts until somebody resumes the GPU
	Drain        bool        `json:"drain,omitempty"`       // the GPU is paused to take it out of service
}

// GPUsReply lists the GPUs.
type GPUsReply struct {
	Schema string `json:"schema"`
	job.GPUSource
	GPUs  []GPU         `json:"gpus"`
	Links []job.GPULink `json:"links,omitempty"` // the link of a pair that is missing here is unknown

	Reservations []Reservation `json:"reservations,omitempty"`

	Hosts []HostAnswer `json:"hosts,omitempty"` // set by the command line if it asked several machines
}

// PauseRequest pauses or drains a GPU, or all of them.
type PauseRequest struct {
	Reason string    `json:"reason,omitempty"`
	Until  time.Time `json:"until,omitzero"` // time at which the pause ends by itself; absent: never
}

// DrainRequest drains the machine.
type DrainRequest struct {
	PauseRequest
	Reboot bool      `json:"reboot,omitempty"` // the machine reboots as soon as no job runs
	By     time.Time `json:"by,omitzero"`      // at this time, jobs that can be queued again are stopped for the reboot
	Force  bool      `json:"force,omitempty"`  // the reboot does not wait for the other jobs
}

// Reservation is an advance reservation. It keeps GPUs for some users for a period.
// Users and Groups are names.
type Reservation struct {
	job.Reservation
	GPUs   []Allocation `json:"gpus"`
	Users  []string     `json:"users,omitempty"`
	Groups []string     `json:"groups,omitempty"`
}

// ReserveRequest asks for a Reservation. Users and Groups are names. A user may also be a uid.
type ReserveRequest struct {
	GPUs   []int     `json:"gpus"`          // indexes
	From   time.Time `json:"from,omitzero"` // absent: now
	To     time.Time `json:"to"`
	Users  []string  `json:"users,omitempty"`
	Groups []string  `json:"groups,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// ReservationsReply lists the reservations that have not ended, sorted by start time.
// If the request made a reservation, Made is its id.
type ReservationsReply struct {
	Schema       string        `json:"schema"`
	Made         int64         `json:"made,omitempty"`
	Reservations []Reservation `json:"reservations"`
}
