package job

import (
	"errors"
	"time"
)

// Errors of a store that no retry mends.
var (
	// ErrDamaged says that the state file is damaged.
	ErrDamaged = errors.New("the state file is damaged")
	// ErrInvalid says that a record can't be stored as it is: a bug of the program.
	ErrInvalid = errors.New("record is not valid")
)

// Record is one change to be stored. Each part that is not nil is inserted, or replaces the stored
// one.
type Record struct {
	// Job is the new state of a job. Its Attempt, if any, is stored as that attempt of the job;
	// earlier attempts stay as they are.
	Job *Job
	// Payload is the private part of a new Job. A task has none: it uses its array's. A nil Payload
	// leaves the stored one alone.
	Payload *Payload
	// GPU is an administrator's decision about one GPU.
	GPU *GPUControl
	// Usage is the GPU time that one account has used.
	Usage *Usage
	// Prediction is the expected run time of one kind of job.
	Prediction *Prediction
	// Reservation keeps GPUs for some users over a time.
	Reservation *Reservation
	// Left is what an ended attempt left behind. It is added to the attempt's result, and to the
	// job's result if this was its last attempt. An attempt without a result is left alone.
	Left *Leftover
	// Notification is a message about a job: owed, sent or given up.
	Notification *Notification
	// Unreserve is the id of a reservation to remove, or 0. A missing reservation is not an error.
	Unreserve int64
	// Alive is a moment at which the machine was on; zero means no change.
	Alive time.Time
	// Quiet suppresses the event about the job; the store ignores it.
	Quiet bool
	// Updated lists the options that somebody changed; the store ignores it.
	Updated *Update
	// Events is the number of the last event; 0 leaves the stored one.
	Events int64
}

// Restored is the stored state that the scheduler starts from.
type Restored struct {
	NextID          ID           // of the next new job
	NextReservation int64        // the id of the next new reservation; 0 if there was none
	Alive           time.Time    // when the machine was last seen on while jobs ran; zero: unknown
	Events          int64        // the number of the last event; 0: there was none
	Jobs            []Job        // that have not ended, by id
	GPUs            []GPUControl // by UUID

	Usage        []Usage        // by account
	Predictions  []Prediction   // the oldest first
	Reservations []Reservation  // by id
	Owed         []Notification // neither sent nor given up; by job, event and number
	Done         []Done         // the newest 100 000, by id
}

// Done is a completed job that was submitted with --dedup. Later submissions are compared with it.
type Done struct {
	UID   int
	Dedup string
	Job   ID
}
