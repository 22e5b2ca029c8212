package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// GPU is one GPU with what the driver says of it and what it is promised to.
type GPU struct {
	Index         int          `json:"index"`
	UUID          string       `json:"uuid"`
	Minor         int          `json:"minor"`
	Name          string       `json:"name"`
	PCI           string       `json:"pci,omitempty"`
	State         job.GPUState `json:"state"`
	StateDetail   string       `json:"state_detail,omitempty"`
	Paused        bool         `json:"paused"`
	PausedReason  string       `json:"paused_reason,omitempty"`
	PausedBy      string       `json:"paused_by,omitempty"`
	PausedAt      time.Time    `json:"paused_at,omitzero"`
	PausedUntil   time.Time    `json:"paused_until,omitzero"` // absent: until it is resumed
	Drain         bool         `json:"drain,omitempty"`       // paused in order to be taken out of service
	Jobs          []job.ID     `json:"jobs,omitempty"`
	FreeMilli     int          `json:"free_milli"`       // of its share, whatever its state
	Shares        []Share      `json:"shares,omitempty"` // of the jobs on it
	NUMANode      int          `json:"numa_node"`        // -1: unknown
	CPUs          string       `json:"cpus,omitempty"`   // those near it, "0-15,32-47"
	MemTotalBytes uint64       `json:"mem_total_bytes"`
	MemUsedBytes  uint64       `json:"mem_used_bytes"`
	MemFreeBytes  uint64       `json:"mem_free_bytes"`
	UtilPercent   int          `json:"util_percent"`  // -1: unknown
	TempC         int          `json:"temp_c"`        // -1: unknown
	PowerMilliW   int64        `json:"power_milli_w"` // -1: unknown
	Processes     []GPUProcess `json:"processes,omitempty"`
	UnlistedBytes int64        `json:"unlisted_bytes,omitempty"` // of processes that the driver does not list, where they keep jobs away
}

// Share is a job's part of a GPU.
type Share struct {
	Job          int64  `json:"job"`
	Called       string `json:"called,omitempty"`        // what people call it: "12", or "7_3" for a task
	Milli        int    `json:"milli"`                   // 1000 is all
	PromiseBytes int64  `json:"promise_bytes,omitempty"` // GPU memory kept for it; 0: none
	UsedBytes    int64  `json:"used_bytes"`              // by the last sample; -1: unknown
	PeakBytes    int64  `json:"peak_bytes,omitempty"`    // the most that a sample saw
}

// GPUProcess is one process on a GPU. Job is 0 for a process from outside.
type GPUProcess struct {
	PID       int    `json:"pid"`
	UID       int    `json:"uid"` // -1: unknown
	User      string `json:"user,omitempty"`
	Comm      string `json:"comm,omitempty"`
	UsedBytes int64  `json:"used_bytes"` // -1: unknown
	Job       int64  `json:"job,omitempty"`
	Stray     bool   `json:"stray,omitempty"` // it is outside of the unit of its job
}

// GPUsReply lists the GPUs.
type GPUsReply struct {
	Schema        string        `json:"schema"`
	Driver        string        `json:"driver,omitempty"`
	CUDA          string        `json:"cuda,omitempty"`
	Problem       string        `json:"problem,omitempty"`        // machine-readable, "" when all is well
	ProblemDetail string        `json:"problem_detail,omitempty"` // a sentence
	SampledAt     time.Time     `json:"sampled_at,omitzero"`
	GPUs          []GPU         `json:"gpus"`
	Links         []job.GPULink `json:"links,omitempty"` // a pair that is not there is unknown

	Reservations []Reservation `json:"reservations,omitempty"`
}

// PauseRequest pauses or drains a GPU.
type PauseRequest struct {
	Reason string    `json:"reason,omitempty"`
	Until  time.Time `json:"until,omitzero"` // when it ends by itself; absent: never
}

// Reservation keeps GPUs for some users over a time. Those who may use them are
// named.
type Reservation struct {
	job.Reservation
	GPUs   []Allocation `json:"gpus"`
	Users  []string     `json:"users,omitempty"`
	Groups []string     `json:"groups,omitempty"`
}

// ReserveRequest asks for a Reservation. Users and groups are names; a user
// may be a number.
type ReserveRequest struct {
	GPUs   []int     `json:"gpus"`          // indexes
	From   time.Time `json:"from,omitzero"` // absent: now
	To     time.Time `json:"to"`
	Users  []string  `json:"users,omitempty"`
	Groups []string  `json:"groups,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// ReservationsReply lists the reservations that have not ended, by start. Made
// is the one that the request made.
type ReservationsReply struct {
	Schema       string        `json:"schema"`
	Made         int64         `json:"made,omitempty"`
	Reservations []Reservation `json:"reservations"`
}
