package job

import "time"

// Course is the expected use of each GPU from now on. It assumes that no jobs are submitted, and
// that every job runs as long as expected.
type Course struct {
	At    time.Time   `json:"at"`
	Until time.Time   `json:"until"` // the end of the time asked for, or of the scheduler's forecast
	GPUs  []GPUCourse `json:"gpus"`

	Waiting int  `json:"waiting"`          // number of jobs in the queue
	Closed  bool `json:"closed,omitempty"` // no job starts until an administrator allows it
}

// GPUCourse is the expected use of one GPU.
type GPUCourse struct {
	Index int      `json:"index"`
	UUID  string   `json:"uuid"`
	Name  string   `json:"name"`
	State GPUState `json:"state"`
	Stays []Stay   `json:"spans"` // by start; stays on different parts of the GPU may overlap
}

// StayKind says what a GPU is used for during a stay.
type StayKind string

// The kinds of stays.
const (
	StayRunning  StayKind = "running"  // a job holds the GPU
	StayPlanned  StayKind = "planned"  // a waiting job is expected to get the GPU
	StayReserved StayKind = "reserved" // an administrator reserved the GPU for some users
	StayDrained  StayKind = "drained"  // an administrator drained the GPU
	StayUnknown  StayKind = "unknown"  // the GPU is broken or used outside gpusched; nobody knows until when
)

// Stay is the use of a GPU, or of a part of it, over a span of time.
type Stay struct {
	Kind   StayKind `json:"kind"`
	Job    ID       `json:"job,omitempty"`    // 0: none
	Called string   `json:"called,omitempty"` // "12", or "7_3" for a task; for a future task, the name of its array
	User   string   `json:"user,omitempty"`
	Name   string   `json:"name,omitempty"`
	Milli  int      `json:"milli"` // 1000 is the whole GPU

	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero"`      // zero: unknown
	Late  time.Time `json:"late_until,omitzero"` // the stay ends earlier in 4 of 5 cases; if Until is zero, always

	For *People `json:"for,omitempty"` // the people for whom it is reserved

	Detail   Message `json:"-"`                // describes a stay without a job
	Sentence string  `json:"detail,omitempty"` // Detail in words; the server sets it
}
