package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Queue describes a waiting job's place in the queue, and which changes would start it sooner.
type Queue struct {
	Ahead   []Ahead `json:"ahead"`                   // jobs that the job may not pass, in order
	Omitted int     `json:"ahead_omitted,omitempty"` // number of further jobs ahead

	// Sooner lists the changes that would start the job sooner, best first. Tried is the number of
	// changes that were tried in the scheduler's plan. Only users who may change the job get these.
	Sooner []Sooner `json:"sooner,omitempty"`
	Tried  int      `json:"sooner_tried,omitempty"`
}

// Ahead is a waiting job that is ahead of the queried job, with the reason.
type Ahead struct {
	job.Ahead
	Sentence string `json:"sentence"` // why it is ahead
}

// Sooner is one change of a job's request, with the earlier start that the change would bring.
type Sooner struct {
	Options []string `json:"options,omitempty"` // options of 'gpusched update', such as "--gpus 2"
	Without []string `json:"without,omitempty"` // options to leave out of a new submission, such as "--gpu-type"
	If      string   `json:"if,omitempty"`      // condition under which the job still succeeds with a lower limit
	Now     bool     `json:"now,omitempty"`

	ExpectedStart     time.Time `json:"expected_start"`
	ExpectedStartFrom time.Time `json:"expected_start_from,omitzero"`
	ExpectedStartBy   time.Time `json:"expected_start_by,omitzero"`
}
