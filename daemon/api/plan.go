package api

import "github.com/gpusched/gpusched/daemon/job"

// PlanReply is what becomes of each GPU in the time to come: the plan that the scheduler itself
// would carry out if nothing new were submitted and every job ran for as long as expected. When
// a job is expected to start by what is known of how far run times differ, Job.ExpectedStart says.
type PlanReply struct {
	Schema string `json:"schema"`
	job.Course
	Planned int `json:"planned"` // of those that wait, how many start on GPUs by Until; only the first 200 are looked at
}
