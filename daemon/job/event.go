package job

import "time"

// EventKind is the kind of a change.
type EventKind string

// The kinds. Those about a job begin with job-.
const (
	EventQueued    EventKind = "job-queued"    // it was submitted
	EventPlaced    EventKind = "job-placed"    // it has its GPUs, and its unit is being started
	EventStarted   EventKind = "job-started"   // its command runs
	EventSpawned   EventKind = "job-spawned"   // of an array: its last task has become a job
	EventEnding    EventKind = "job-ending"    // its command has ended or was told to
	EventEnded     EventKind = "job-ended"     // for good
	EventRequeued  EventKind = "job-requeued"  // an attempt is over, and it waits again
	EventHeld      EventKind = "job-held"      // it may not start
	EventReleased  EventKind = "job-released"  // it may start again
	EventSuspended EventKind = "job-suspended" // its processes are frozen
	EventResumed   EventKind = "job-resumed"   // its processes go on
	EventUpdated   EventKind = "job-updated"   // its options or its name changed
	EventForgotten EventKind = "job-forgotten" // old ended jobs were removed from the state file

	EventGPU         EventKind = "gpu-changed" // a GPU was paused, drained or put back into service
	EventFault       EventKind = "gpu-fault"   // an error, or something that a job left, takes a GPU out of service
	EventDrain       EventKind = "drain"       // no job starts, or jobs start again
	EventReservation EventKind = "reservation" // a reservation was made or is over
	EventSettings    EventKind = "settings"    // the settings were reloaded

	EventGap      EventKind = "gap"      // earlier events are gone: clients that follow must list the jobs again
	EventPosition EventKind = "position" // nothing has changed: the number so far
)

// Event is one change, as everybody may know it. A change that is stored is announced only once it
// is on disk.
type Event struct {
	// Number increases by one with each event, also across restarts of the daemon. For a gap or a
	// position it is the number after which the next events follow.
	Number int64     `json:"number"`
	At     time.Time `json:"time"`
	Kind   EventKind `json:"event"`

	Job     ID           `json:"job,omitempty"`    // 0: not about a job
	Called  string       `json:"called,omitempty"` // "12", or "7_3" for a task
	Name    string       `json:"name,omitempty"`
	User    string       `json:"user,omitempty"`
	UID     *int         `json:"uid,omitempty"`
	State   State        `json:"state,omitempty"`          // the job's new state
	Attempt int          `json:"attempt,omitempty"`        // 0: none so far
	GPUs    []int        `json:"gpus,omitempty"`           // by index: those the job has or had
	Result  *ShownResult `json:"result,omitempty"`         // of the job or, if it was requeued, of its last attempt
	Stop    StopCause    `json:"stop_requested,omitempty"` // why it is being stopped
	By      string       `json:"by,omitempty"`             // who held, suspended, stopped, paused, drained or reserved

	GPU         *GPUNews `json:"gpu,omitempty"`
	On          *bool    `json:"on,omitempty"`          // drain, reservation: whether it is in force now
	Reservation int64    `json:"reservation,omitempty"` // 0: not about a reservation
	Count       int      `json:"count,omitempty"`       // of forgotten jobs

	Why      Message `json:"why,omitzero"`
	Sentence string  `json:"sentence"` // the whole event in words; the server sets it
}

// GPUNews is a GPU that came into service or went out of it. The events of jobs tell which jobs it
// has.
type GPUNews struct {
	Index     int      `json:"index"` // -1: unknown
	UUID      string   `json:"uuid"`
	InService bool     `json:"in_service"`
	State     GPUState `json:"state,omitempty"` // why it is out of service
}

// Events is a batch of events for a client that follows them.
type Events struct {
	List []Event
	Last int64 // the number up to which List is complete
	Gap  bool  // events after the requested number are no longer kept, or never existed

	Oldest, Newest int64 // the number before the oldest kept event, and the number of the newest
}
