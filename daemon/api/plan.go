package api

import "github.com/gpusched/gpusched/daemon/job"

// PlanReply shows what is planned on each GPU. The scheduler would carry out this plan if no job
// were added and every job ran for its expected time. Job.ExpectedStart also considers how much run
// times vary.
type PlanReply struct {
	Schema string `json:"schema"`
	job.Course
	Planned int `json:"planned"` // how many of the first 200 waiting jobs start on GPUs by Until
}
