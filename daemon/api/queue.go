package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Queue says where in the queue a waiting job is, and what would make it start sooner.
type Queue struct {
	Ahead   []Ahead `json:"ahead"`                   // the jobs that it may not pass, in order
	Omitted int     `json:"ahead_omitted,omitempty"` // the number of further ones

	// For those who may change the job: changes that would make it start sooner, the best first,
	// and the number of changes that were tried in the scheduler's own plan.
	Sooner []Sooner `json:"sooner,omitempty"`
	Tried  int      `json:"sooner_tried,omitempty"`
}

// Ahead is a waiting job that is ahead of another one, and why.
type Ahead struct {
	job.Ahead
	Sentence string `json:"sentence"` // why it is ahead
}

// Sooner is one change of a job that would make it start sooner.
type Sooner struct {
	Options []string `json:"options,omitempty"` // of 'gpusched update', such as "--gpus 2"
	Without []string `json:"without,omitempty"` // options to leave out of a new submission, such as "--gpu-type"
	If      string   `json:"if,omitempty"`      // the condition for a lower limit, since a limit ends a job that needs more
	Now     bool     `json:"now,omitempty"`

	ExpectedStart     time.Time `json:"expected_start"`
	ExpectedStartFrom time.Time `json:"expected_start_from,omitzero"`
	ExpectedStartBy   time.Time `json:"expected_start_by,omitzero"`
}
