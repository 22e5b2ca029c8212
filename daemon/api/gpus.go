package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// GPU is one GPU, with the administrator's orders about it.
type GPU struct {
	job.GPU
	Host         string      `json:"host,omitempty"` // the machine that has it, if several were asked; the command line fills it in
	Engine       string      `json:"-"`              // as Job.Engine
	StateDetail  string      `json:"state_detail,omitempty"`
	StateWhy     job.Message `json:"state_why,omitzero"` // StateDetail as code and arguments
	Paused       bool        `json:"paused"`
	PausedReason string      `json:"paused_reason,omitempty"`
	PausedBy     string      `json:"paused_by,omitempty"`
	PausedAt     time.Time   `json:"paused_at,omitzero"`
	PausedUntil  time.Time   `json:"paused_until,omitzero"` // absent: until it is resumed
	Drain        bool        `json:"drain,omitempty"`       // paused to be taken out of service
}

// GPUsReply lists the GPUs.
type GPUsReply struct {
	Schema string `json:"schema"`
	job.GPUSource
	GPUs  []GPU         `json:"gpus"`
	Links []job.GPULink `json:"links,omitempty"` // a pair that is missing is unknown

	Reservations []Reservation `json:"reservations,omitempty"`

	Hosts []HostAnswer `json:"hosts,omitempty"` // if several machines were asked
}

// PauseRequest pauses or drains a GPU, or all of them.
type PauseRequest struct {
	Reason string    `json:"reason,omitempty"`
	Until  time.Time `json:"until,omitzero"` // when it ends by itself; absent: never
}

// Reservation is an advance reservation: it keeps GPUs for some users for a period. Users and
// Groups are names.
type Reservation struct {
	job.Reservation
	GPUs   []Allocation `json:"gpus"`
	Users  []string     `json:"users,omitempty"`
	Groups []string     `json:"groups,omitempty"`
}

// ReserveRequest asks for a Reservation. Users and Groups are names; a user may also be a number.
type ReserveRequest struct {
	GPUs   []int     `json:"gpus"`          // indexes
	From   time.Time `json:"from,omitzero"` // absent: now
	To     time.Time `json:"to"`
	Users  []string  `json:"users,omitempty"`
	Groups []string  `json:"groups,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// ReservationsReply lists the reservations that have not ended, by start time. Made is the id of
// the reservation that the request made.
type ReservationsReply struct {
	Schema       string        `json:"schema"`
	Made         int64         `json:"made,omitempty"`
	Reservations []Reservation `json:"reservations"`
}
