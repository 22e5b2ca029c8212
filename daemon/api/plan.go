package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// PlanReply is what becomes of each GPU in the time to come: the plan that the scheduler itself
// would carry out if nothing new were submitted and every job ran for as long as expected. When
// a job is expected to start by what is known of how far run times differ, Job.ExpectedStart says.
type PlanReply struct {
	Schema string    `json:"schema"`
	At     time.Time `json:"at"`
	Until  time.Time `json:"until"` // so far it goes: as far as was asked, or as the scheduler looks
	GPUs   []GPUPlan `json:"gpus"`

	Waiting int  `json:"waiting"`          // jobs in the queue
	Planned int  `json:"planned"`          // of these, those that start on GPUs by Until; only the first 200 are looked at
	Closed  bool `json:"closed,omitempty"` // no job starts until an administrator lets them
}

// GPUPlan is what becomes of one GPU.
type GPUPlan struct {
	Index int          `json:"index"`
	UUID  string       `json:"uuid"`
	Name  string       `json:"name"`
	State job.GPUState `json:"state"`
	Spans []Span       `json:"spans"` // by their beginnings; those of parts of a GPU overlap
}

// Span is some time of a GPU and what it is for: running, planned, reserved, drained, or unknown
// where something is wrong with the GPU or somebody else uses it.
type Span struct {
	Kind   job.StayKind `json:"kind"`
	Job    job.ID       `json:"job,omitempty"`
	Called string       `json:"called,omitempty"` // "12", or "7_3" for a task; of a task to come, its array
	User   string       `json:"user,omitempty"`
	Name   string       `json:"name,omitempty"`
	Milli  int          `json:"milli"` // 1000 is all of the GPU

	From      time.Time `json:"from"`
	Until     time.Time `json:"until,omitzero"`      // absent: nobody can say
	LateUntil time.Time `json:"late_until,omitzero"` // over by then in four cases of five; without Until, at the latest
	Detail    string    `json:"detail,omitempty"`    // of what is no job's
}
