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
	job.Ahead
	Sentence string `json:"sentence"` // why it is before
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
