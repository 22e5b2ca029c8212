package job

import "time"

// EventKind is the kind of an event.
type EventKind string

// The kinds. Kinds of events about a job begin with job-.
const (
	EventQueued    EventKind = "job-queued"    // the job was submitted
	EventPlaced    EventKind = "job-placed"    // the job has its GPUs, and its unit is being started
	EventStarted   EventKind = "job-started"   // the job's command runs
	EventSpawned   EventKind = "job-spawned"   // for an array: its last task has become a job
	EventEnding    EventKind = "job-ending"    // the job's command has ended or was told to end
	EventEnded     EventKind = "job-ended"     // the job has ended for good
	EventRequeued  EventKind = "job-requeued"  // an attempt is over, and the job waits again
	EventHeld      EventKind = "job-held"      // the job may not start
	EventReleased  EventKind = "job-released"  // the job may start again
	EventSuspended EventKind = "job-suspended" // the job's processes are frozen
	EventResumed   EventKind = "job-resumed"   // the job's processes run again
	EventParked    EventKind = "job-parked"    // the job's GPU memory is in the host's memory, and its GPUs are free
	EventUnparked  EventKind = "job-unparked"  // the job has its GPUs and their memory again
	EventUpdated   EventKind = "job-updated"   // the job's options or name changed
	EventForgotten EventKind = "job-forgotten" // old ended jobs were removed from the state file

	EventGPU         EventKind = "gpu-changed" // a GPU was paused, drained or put back into service
	EventFault       EventKind = "gpu-fault"   // an error, or something that a job left, took a GPU out of service
	EventDrain       EventKind = "drain"       // jobs no longer start, or start again
	EventReservation EventKind = "reservation" // a reservation was made, or has ended
	EventSettings    EventKind = "settings"    // the settings were reloaded

	EventStrangerTold  EventKind = "stranger-told"  // a user was told about a process on a GPU of another user's job
	EventStrangerEnded EventKind = "stranger-ended" // such a process is being ended

	EventGap      EventKind = "gap"      // earlier events are gone: clients must list the jobs again
	EventPosition EventKind = "position" // nothing has changed; gives the number of the last event
)

// Event is one change, with only what everybody may see. If a change is stored, it is announced
// only after it is on disk.
type Event struct {
	// Number increases by one with each event, even across restarts of the daemon. In a gap or a
	// position, it is the number after which the next events follow.
	Number int64     `json:"number"`
	At     time.Time `json:"time"`
	Kind   EventKind `json:"event"`

	Job     ID           `json:"job,omitempty"`    // 0: the event is not about a job
	Called  string       `json:"called,omitempty"` // "12", or "7_3" for a task
	Name    string       `json:"name,omitempty"`
	User    string       `json:"user,omitempty"`
	UID     *int         `json:"uid,omitempty"`
	State   State        `json:"state,omitempty"`          // the job's new state
	Attempt int          `json:"attempt,omitempty"`        // 0: no attempt so far
	GPUs    []int        `json:"gpus,omitempty"`           // indexes of the GPUs that the job has or had
	Result  *ShownResult `json:"result,omitempty"`         // result of the job or, if it was requeued, of its last attempt
	Stop    StopCause    `json:"stop_requested,omitempty"` // why the job is being stopped
	By      string       `json:"by,omitempty"`             // who held, suspended, stopped, paused, drained or reserved

	GPU         *GPUNews `json:"gpu,omitempty"`
	On          *bool    `json:"on,omitempty"`          // drain and reservation: whether it is in force now
	Reservation int64    `json:"reservation,omitempty"` // 0: the event is not about a reservation
	Count       int      `json:"count,omitempty"`       // number of forgotten jobs

	Why      Message `json:"why,omitzero"`
	Sentence string  `json:"sentence"` // the whole event in words; the server sets it
}

// GPUNews is a GPU that came into service or went out of it. Which jobs the GPU has is clear from
// the events of the jobs.
type GPUNews struct {
	Index     int      `json:"index"` // -1: unknown
	UUID      string   `json:"uuid"`
	InService bool     `json:"in_service"`
	State     GPUState `json:"state,omitempty"` // why the GPU is out of service
}

// Events is a batch of events for a client that follows the events.
type Events struct {
	List []Event
	Last int64 // the number up to which List is complete
	Gap  bool  // some events after the requested number are no longer kept, or never existed

	Oldest, Newest int64 // the number before that of the oldest kept event, and the number of the newest event
}
