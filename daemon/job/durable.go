package job

import (
	"errors"
	"time"
)

// These errors of a store remain, however often the action is retried.
var (
	// ErrDamaged says that the state file is damaged.
	ErrDamaged = errors.New("the state file is damaged")
	// ErrInvalid says that a record can't be stored as it is, because of a bug in the program.
	ErrInvalid = errors.New("record is not valid")
)

// Record is one change to be stored. Each part that is not nil is inserted, or replaces the stored
// part.
type Record struct {
	// Job is the new state of a job. If it has an Attempt, that attempt is stored as well. Earlier
	// attempts stay as they are.
	Job *Job
	// Payload is the private part of a new Job. A task has none, but uses the payload of its array.
	// If Payload is nil, the stored payload stays as it is.
	Payload *Payload
	// GPU is an administrator's decision about one GPU.
	GPU *GPUControl
	// Usage is the GPU time that one account has used.
	Usage *Usage
	// Prediction is the expected run time of one kind of job.
	Prediction *Prediction
	// Reservation keeps GPUs for some users for a span of time.
	Reservation *Reservation
	// Left is what an ended attempt left behind. It is added to the attempt's result and, if this
	// was the job's last attempt, to the job's result. An attempt without a result is not changed.
	Left *Leftover
	// Notification is a message about a job. The message is owed, sent or given up.
	Notification *Notification
	// Directory is a directory that is to be removed, or that was.
	Directory *Directory
	// Unreserve is the id of a reservation to remove, or 0. It is not an error if the reservation
	// is missing.
	Unreserve int64
	// Alive is a moment at which the machine was on. If it is zero, the stored moment stays.
	Alive time.Time
	// Quiet means that no event announces the change of the job. The store ignores it.
	Quiet bool
	// Updated lists the options that somebody changed. The store ignores it.
	Updated *Update
	// Events is the number of the last event. If it is 0, the stored number stays.
	Events int64
}

// Directory is a directory of a job that is removed when nobody needs it any more, by a unit of its
// user: with the user's rights, and again until it is gone. To have such a directory for something
// else, put it on record when it is made, with a number of its own as Attempt. If its time is not
// known then, leave Due zero: it is removed when the job is forgotten.
type Directory struct {
	Job      ID        `json:"-"`
	Attempt  int       `json:"-"` // the attempt that it is the scratch directory of; 0: it is of the whole job
	UID      int       `json:"-"`
	Path     string    `json:"path"`
	Due      time.Time `json:"-"`                  // when to remove it, or to try again; zero: when the job is forgotten
	Failures int       `json:"failures,omitempty"` // number of removals that failed
	Gone     bool      `json:"-"`                  // nothing is left to do
}

// Is reports whether d and o are the same directory.
func (d *Directory) Is(o Directory) bool { return d.Job == o.Job && d.Attempt == o.Attempt }

// ScratchRemoval says when the attempt's scratch directory is removed: at once, or after a failure of
// the command, when its user had some time to look into it.
func (j *Job) ScratchRemoval(r *Result, over time.Time, keep time.Duration) *Directory {
	d := &Directory{Job: j.ID, Attempt: j.Attempt.Number, UID: j.Owner.UID, Path: j.Scratch, Due: over}
	if r.Outcome != Completed && r.Outcome != Cancelled && r.Tries == 0 && r.Launch == "" {
		d.Due = over.Add(keep)
	}
	return d
}

// Restored is the stored state from which the scheduler starts.
type Restored struct {
	NextID          ID           // the id of the next new job
	NextReservation int64        // the id of the next new reservation; 0: there was no reservation
	Alive           time.Time    // when the machine was last known to be on while jobs ran; zero: unknown
	Events          int64        // the number of the last event; 0: there was no event
	Jobs            []Job        // jobs that have not ended, by id
	GPUs            []GPUControl // by UUID

	Usage        []Usage        // by account
	Predictions  []Prediction   // oldest first
	Reservations []Reservation  // by id
	Owed         []Notification // messages that are neither sent nor given up, by job, event and number
	Done         []Done         // the newest 100 000 jobs, by id
}

// Done is a completed job that was submitted with --dedup. Later submissions with --dedup are
// compared with it.
type Done struct {
	UID   int
	Dedup string
	Job   ID
}
