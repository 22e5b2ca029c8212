package store

import "github.com/gpusched/gpusched/daemon/job"

// Record is one change to be made durable. Each part that is not nil is
// inserted, or replaces what was there.
type Record struct {
	// Job is the new state of a job. Its Attempt, if any, is stored as that
	// attempt of the job; earlier attempts stay as they are.
	Job *job.Job
	// Payload is the private part of Job and comes with a new job. A nil
	// Payload leaves the stored one alone.
	Payload *job.Payload
	// GPU is an administrator's decision about one GPU.
	GPU *job.GPUControl
	// Usage is what an account has used so far.
	Usage *job.Usage
	// Prediction is how long jobs of one kind took last.
	Prediction *job.Prediction
	// Reservation keeps GPUs for some users over a time.
	Reservation *job.Reservation
	// Unreserve is the id of a reservation to remove; 0 is none.
	Unreserve int64
}

// State is what the scheduler starts from.
type State struct {
	NextID job.ID           // the id of the next new job
	Live   []job.Job        // every job that has not ended, by id
	GPUs   []job.GPUControl // by UUID
}

// Filter selects ended jobs. Zero fields select everything.
type Filter struct {
	UID   *int
	State job.State // one terminal state
	Name  string    // exactly this name
	Limit int       // at most so many; 0 or less: all
}
