package job

import (
	"errors"
	"time"
)

// Errors of who keeps records, which no further try mends.
var (
	// ErrDamaged says that the state file is damaged.
	ErrDamaged = errors.New("the state file is damaged")
	// ErrInvalid says that a record can't be stored as it is: a fault of the program.
	ErrInvalid = errors.New("record is not valid")
)

// Record is one change to be made durable. Each part that is not nil is
// inserted, or replaces what was there.
type Record struct {
	// Job is the new state of a job. Its Attempt, if any, is stored as that
	// attempt of the job; earlier attempts stay as they are.
	Job *Job
	// Payload is the private part of Job and comes with a new job, but not
	// with a task: a task has its array's. A nil Payload leaves the stored one
	// alone.
	Payload *Payload
	// GPU is an administrator's decision about one GPU.
	GPU *GPUControl
	// Usage is what one account has used.
	Usage *Usage
	// Prediction is how long jobs of one kind took last.
	Prediction *Prediction
	// Reservation keeps GPUs for some users over a time.
	Reservation *Reservation
	// Left is what an attempt that has ended left behind. It becomes a part of
	// its result, and of the job's where it is the last one; an attempt without
	// a result is left alone.
	Left *Leftover
	// Notification is a message about a job: owed, sent or given up.
	Notification *Notification
	// Unreserve is the id of a reservation that is removed; 0 is none, and one
	// that is not there is not an error.
	Unreserve int64
	// Alive is a moment at which the machine was on; zero: nothing about that.
	Alive time.Time
	// Quiet says that there is no news about the job; the store does not care.
	Quiet bool
	// Updated says what somebody changed of what the job asks or is called; the store does
	// not care.
	Updated *Update
	// Events is the number that was given to an event last; 0 leaves what is stored.
	Events int64
}

// Restored is the durable state that the scheduler starts from.
type Restored struct {
	NextID          ID           // of the next new job
	NextReservation int64        // the id of the next new reservation; 0 where there was none
	Alive           time.Time    // when the machine was seen to be on last, while jobs ran; zero: unknown
	Events          int64        // the number that was given to an event last; 0: there was none
	Jobs            []Job        // those that have not ended, by id
	GPUs            []GPUControl // by UUID

	Usage        []Usage        // by account
	Predictions  []Prediction   // the oldest first
	Reservations []Reservation  // by id
	Owed         []Notification // by job, event and number: those that are neither sent nor given up
	Done         []Done         // the newest 100 000, by id
}

// Done is a completed job that was submitted with --dedup: a later one with the
// same content is compared with it.
type Done struct {
	UID   int
	Dedup string
	Job   ID
}
