package job

import "time"

// EventKind says what has changed.
type EventKind string

// The kinds. What is about a job begins with job-.
const (
	EventQueued    EventKind = "job-queued"    // it is new
	EventPlaced    EventKind = "job-placed"    // it has its GPUs, and its unit is being started
	EventStarted   EventKind = "job-started"   // its command runs
	EventSpawned   EventKind = "job-spawned"   // of an array: its last task has become a job
	EventEnding    EventKind = "job-ending"    // its command has ended or is told to
	EventEnded     EventKind = "job-ended"     // for good
	EventRequeued  EventKind = "job-requeued"  // an attempt is over, and it waits again
	EventHeld      EventKind = "job-held"      // it is kept from starting
	EventReleased  EventKind = "job-released"  // it no longer is
	EventSuspended EventKind = "job-suspended" // its processes are halted
	EventResumed   EventKind = "job-resumed"   // they go on
	EventUpdated   EventKind = "job-updated"   // it asks something else, or is called otherwise
	EventForgotten EventKind = "job-forgotten" // old ended jobs are no longer on record

	EventGPU         EventKind = "gpu-changed" // what may be placed on a GPU
	EventFault       EventKind = "gpu-fault"   // an error, or what a job left, takes a GPU out of service
	EventDrain       EventKind = "drain"       // no job starts, or they do again
	EventReservation EventKind = "reservation" // one is made or is over
	EventSettings    EventKind = "settings"    // other settings are in force

	EventGap      EventKind = "gap"      // earlier ones are gone: whoever follows lists anew
	EventPosition EventKind = "position" // nothing has changed: the number so far
)

// Event is one change, as everybody may know it. Of a change that is on record, it is
// announced when that is on disk.
type Event struct {
	// Number is one more than that of the event before, over restarts of the daemon as
	// well. Of a gap or a position it is the number after which the next ones follow.
	Number int64     `json:"number"`
	At     time.Time `json:"time"`
	Kind   EventKind `json:"event"`

	Job     ID           `json:"job,omitempty"`    // 0: it is about no job
	Called  string       `json:"called,omitempty"` // "12", or "7_3" for a task
	Name    string       `json:"name,omitempty"`
	User    string       `json:"user,omitempty"`
	UID     *int         `json:"uid,omitempty"`
	State   State        `json:"state,omitempty"`          // that the job is in from now on
	Attempt int          `json:"attempt,omitempty"`        // 0: it has had none
	GPUs    []int        `json:"gpus,omitempty"`           // by index, that it has or had
	Result  *ShownResult `json:"result,omitempty"`         // of the job or, where it waits again, of its attempt
	Stop    StopCause    `json:"stop_requested,omitempty"` // why it is being stopped
	By      string       `json:"by,omitempty"`             // who holds, suspends, stops, pauses, drains or reserves

	GPU         *GPUNews `json:"gpu,omitempty"`
	On          *bool    `json:"on,omitempty"`          // drain, reservation: it is in force from now on, or over
	Reservation int64    `json:"reservation,omitempty"` // 0: it is about none
	Count       int      `json:"count,omitempty"`       // of jobs that were forgotten

	Why      Message `json:"why,omitzero"`
	Sentence string  `json:"sentence"` // all of it in words, which the server finds
}

// GPUNews is a GPU that came into service or went out of it. Which jobs it has is told
// with the jobs.
type GPUNews struct {
	Index     int      `json:"index"` // -1: not known
	UUID      string   `json:"uuid"`
	InService bool     `json:"in_service"`
	State     GPUState `json:"state,omitempty"` // why it is not
}

// Events are what whoever follows reads next.
type Events struct {
	List []Event
	Last int64 // the number up to which this is all
	Gap  bool  // what came after the number that was asked for is not kept any more, or never was

	Oldest, Newest int64 // the numbers before the first event that is kept, and of the last one
}
