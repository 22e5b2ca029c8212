package api

import "github.com/gpusched/gpusched/daemon/job"

// PlanReply says what is planned on each GPU: the plan that the scheduler would carry out if
// nothing new were submitted and every job ran for as long as expected. Job.ExpectedStart also
// takes into account how far run times vary.
type PlanReply struct {
	Schema string `json:"schema"`
	job.Course
	Planned int `json:"planned"` // the number of waiting jobs that start on GPUs by Until; only the first 200 are planned
}
