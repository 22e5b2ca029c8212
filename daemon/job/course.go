package job

import "time"

// Course is what becomes of each GPU in the time to come, if nothing new is submitted and every
// job runs for as long as expected.
type Course struct {
	At    time.Time   `json:"at"`
	Until time.Time   `json:"until"` // so far it goes: as far as was asked, or as the scheduler looks
	GPUs  []GPUCourse `json:"gpus"`

	Waiting int  `json:"waiting"`          // jobs in the queue
	Closed  bool `json:"closed,omitempty"` // no job starts until an administrator lets them
}

// GPUCourse is what becomes of one GPU.
type GPUCourse struct {
	Index int      `json:"index"`
	UUID  string   `json:"uuid"`
	Name  string   `json:"name"`
	State GPUState `json:"state"`
	Stays []Stay   `json:"spans"` // by their beginnings; those of parts of a GPU overlap
}

// StayKind is what a GPU is for over some time.
type StayKind string

// The kinds.
const (
	StayRunning  StayKind = "running"  // a job has it
	StayPlanned  StayKind = "planned"  // a job that waits is expected to have it
	StayReserved StayKind = "reserved" // an administrator keeps it for some users
	StayDrained  StayKind = "drained"  // an administrator keeps jobs from it
	StayUnknown  StayKind = "unknown"  // something is wrong with it, or somebody else uses it: nobody can say for how long
)

// Stay is some time of a GPU and what it is for.
type Stay struct {
	Kind   StayKind `json:"kind"`
	Job    ID       `json:"job,omitempty"`    // 0: none
	Called string   `json:"called,omitempty"` // "12", or "7_3" for a task; of a task to come, its array
	User   string   `json:"user,omitempty"`
	Name   string   `json:"name,omitempty"`
	Milli  int      `json:"milli"` // 1000 is all of the GPU

	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero"`      // zero: nobody can say
	Late  time.Time `json:"late_until,omitzero"` // over by then in four cases of five, or where Until is zero at the latest; zero: nobody can say

	For *People `json:"for,omitempty"` // whom it is reserved for

	Detail   Message `json:"-"`                // of what is no job's
	Sentence string  `json:"detail,omitempty"` // Detail in words, which the server finds
}
