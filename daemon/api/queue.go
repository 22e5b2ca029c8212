package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Queue is where a waiting job stands.
type Queue struct {
	Ahead   []Ahead `json:"ahead"`                   // what is before it, in order: jobs that it may not pass
	Omitted int     `json:"ahead_omitted,omitempty"` // more of these

	// For those who may change the job: what would have it start sooner, the soonest first, of how
	// many changes that were tried. They have gone through the scheduler's own plan.
	Sooner []Sooner `json:"sooner,omitempty"`
	Tried  int      `json:"sooner_tried,omitempty"`
}

// Ahead is a waiting job that is before another one, and why.
type Ahead struct {
	Job      job.ID         `json:"job"`
	Called   string         `json:"called"` // "12", or "7_3" for a task
	User     string         `json:"user"`
	Name     string         `json:"name"`
	GPUMilli int            `json:"gpu_milli"`
	Cause    job.AheadCause `json:"cause"` // class, number, owed, guarded, score, longer or batch
	Its      Standing       `json:"its"`
	Own      Standing       `json:"own"` // the same of the job that was asked about

	Kept     bool   `json:"kept,omitempty"`  // GPUs are kept for it
	Again    bool   `json:"again,omitempty"` // it ran before, and waits again
	Sentence string `json:"sentence"`        // why it is before
}

// Standing is what a job is ranked by.
type Standing struct {
	Priority       job.Priority `json:"priority"`
	Share          float64      `json:"share,omitempty"` // how much its user had lately, in fair parts
	WaitedSeconds  int64        `json:"waited_seconds"`
	RanksAsSeconds int64        `json:"ranks_as_seconds,omitempty"` // how long it counts as running
	Score          float64      `json:"score,omitempty"`
}

// Sooner is one change of a job with which it would start sooner.
type Sooner struct {
	Options []string `json:"options,omitempty"` // of 'gpusched update', such as "--gpus 2"
	Without []string `json:"without,omitempty"` // options that it would be submitted again without, such as "--gpu-type"
	If      string   `json:"if,omitempty"`      // what has to be so, as such a limit ends a job that needs more
	Now     bool     `json:"now,omitempty"`

	ExpectedStart     time.Time `json:"expected_start"`
	ExpectedStartFrom time.Time `json:"expected_start_from,omitzero"`
	ExpectedStartBy   time.Time `json:"expected_start_by,omitzero"`
}
