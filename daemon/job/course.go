package job

import "time"

// Course is the expected use of each GPU from now on, if nothing new is submitted and every job
// runs as long as expected.
type Course struct {
	At    time.Time   `json:"at"`
	Until time.Time   `json:"until"` // as far as was asked for, or as the scheduler looks ahead
	GPUs  []GPUCourse `json:"gpus"`

	Waiting int  `json:"waiting"`          // jobs in the queue
	Closed  bool `json:"closed,omitempty"` // no job starts until an administrator allows it
}

// GPUCourse is the expected use of one GPU.
type GPUCourse struct {
	Index int      `json:"index"`
	UUID  string   `json:"uuid"`
	Name  string   `json:"name"`
	State GPUState `json:"state"`
	Stays []Stay   `json:"spans"` // by start; spans of different parts of the GPU overlap
}

// StayKind is the use of a GPU over a span of time.
type StayKind string

// The kinds.
const (
	StayRunning  StayKind = "running"  // a job has it
	StayPlanned  StayKind = "planned"  // a waiting job is expected to have it
	StayReserved StayKind = "reserved" // an administrator reserved it for some users
	StayDrained  StayKind = "drained"  // an administrator drained it
	StayUnknown  StayKind = "unknown"  // it is broken or in use outside gpusched; its end is unknown
)

// Stay is a span of time of a GPU, or of a part of one, and its use.
type Stay struct {
	Kind   StayKind `json:"kind"`
	Job    ID       `json:"job,omitempty"`    // 0: none
	Called string   `json:"called,omitempty"` // "12", or "7_3" for a task; the array for a task to come
	User   string   `json:"user,omitempty"`
	Name   string   `json:"name,omitempty"`
	Milli  int      `json:"milli"` // 1000 is the whole GPU

	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero"`      // zero: unknown
	Late  time.Time `json:"late_until,omitzero"` // over by then in 4 of 5 cases; if Until is zero, in all

	For *People `json:"for,omitempty"` // the users it is reserved for

	Detail   Message `json:"-"`                // for spans without a job
	Sentence string  `json:"detail,omitempty"` // Detail in words; the server sets it
}
