package store

import "github.com/gpusched/gpusched/daemon/job"

// Record is one change to be made durable. Each part that is not nil is
// inserted, or replaces what was there.
type Record struct {
	// Job is the new state of a job. Its Attempt, if any, is stored as that
	// attempt of the job; earlier attempts stay as they are.
	Job *job.Job
	// Payload is the private part of Job and comes with a new job, but not
	// with a task: a task has its array's. A nil Payload leaves the stored one
	// alone.
	Payload *job.Payload
	// GPU is an administrator's decision about one GPU.
	GPU *job.GPUControl
	// Usage is what one account has used.
	Usage *job.Usage
	// Prediction is how long jobs of one kind took last.
	Prediction *job.Prediction
	// Reservation keeps GPUs for some users over a time.
	Reservation *job.Reservation
	// Left is what an attempt that has ended left behind. It becomes a part of
	// its result, and of the job's where it is the last one; an attempt without
	// a result is left alone.
	Left *job.Leftover
	// Unreserve is the id of a reservation that is removed; 0 is none, and one
	// that is not there is not an error.
	Unreserve int64
	// Quiet says that there is no news about the job; the store does not care.
	Quiet bool
}

// State is what the scheduler starts from.
type State struct {
	NextID          job.ID           // the id of the next new job
	NextReservation int64            // the id of the next new reservation
	Live            []job.Job        // every job that has not ended, by id
	GPUs            []job.GPUControl // by UUID

	Usage        []job.Usage       // by account
	Predictions  []job.Prediction  // the oldest first
	Reservations []job.Reservation // by id
	Done         []Done            // the newest 100 000, by id
}

// Done is a completed job whose request has a content hash.
type Done struct {
	UID   int
	Dedup string
	Job   job.ID
}

// Filter selects ended jobs. Zero fields select everything.
type Filter struct {
	UID   *int
	State job.State // one terminal state
	Name  string    // exactly this name
	Array job.ID    // tasks of this array
	Limit int       // at most so many; 0 or less: all
}

// Status is what a dependency asks of another job.
type Status struct {
	State job.State
	// Started reports whether the job, or for an array any of its tasks, has
	// ever run.
	Started bool
}
