package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/job"
)

// Effects are the results of one Step, in this order: store Records in one transaction, start
// Actions, send Replies. News are announced with the records.
type Effects struct {
	Records []job.Record
	Actions []Action
	Replies []Reply
	News    []job.Event // events that no record implies, without number and time
}

// Action is something to do outside the core; an event answers it.
type Action interface{ action() }

// Start starts the unit of the job's current attempt; answered by Started or StartFailed. SampledAt
// is when the sample ended that the start relies on; zero if it relies on none.
type Start struct {
	Job       job.Job
	SampledAt time.Time
}

// Hasten finds out why a start takes long, once when it becomes slow and again when its job is to
// be stopped, and undoes what its user may have done to delay it. It is answered by StartSlow if it
// finds the cause.
type Hasten struct {
	Job   job.Job
	Again bool
}

// Whose identifies a job's unit, as opposed to another unit with its name.
type Whose struct {
	UID        int    // the job's owner
	Invocation string // of the unit; "": not known yet
	Attempt    int    // a unit of an earlier attempt does not match; 0: any attempt
}

func whose(j *job.Job) Whose { return Whose{UID: j.Owner.UID, Invocation: j.Attempt.InvocationID} }

// Stop ends every process of the job's unit and collects it; answered by Stopped. InspectFirst asks
// to read the unit first, since its end is not known yet, and to leave it alone if it has ended by
// itself. A unit of that name that is not the job's is left alone.
type Stop struct {
	Job     job.ID
	Attempt int
	Whose
	Grace        time.Duration // as set in its unit
	InspectFirst bool
	Thaw         bool        // it may be frozen: thaw its processes first
	Notice       NotifyOwner // sent before the stop, if it says anything
}

// Inspect asks systemd about one unit; answered by Inspected. A unit of that name that is not the
// job's counts as absent. Early: the unit's start has not been answered.
type Inspect struct {
	Job     job.ID
	Attempt int
	Whose   Whose
	Early   bool
}

// Signal sends a job's processes its warning signal, or SIGKILL; answered by Signalled. A unit of
// that name that is not the job's gets none.
type Signal struct {
	Job     job.ID
	Attempt int
	Signal  int
	Main    bool // to its main process alone
	Whose   Whose
}

// Freeze freezes or thaws a job's unit; not answered. A later inspection shows whether it got lost.
type Freeze struct {
	Job     job.ID
	Attempt int
	Thaw    bool
}

// Keep stores what was decided about a running job outside the state file; not answered.
type Keep struct {
	Job     job.ID
	Attempt int
	What    job.Kept
}

// NotifyOwner writes sentences into a running job's journal for its owner, one per line; not
// answered. It may get lost, and says nothing that views do not show.
type NotifyOwner struct {
	Job job.ID
	UID int // the owner
	Say []job.Message
}

// Deliver sends a message to the recipient that the job's owner chose; answered by Delivered.
type Deliver struct{ job.Notification }

// Sample asks for a sample of the GPUs that begins from now on, even before the records are stored;
// answered by Sampled with this number or a higher one.
type Sample struct{ Number uint64 }

// Forget removes what was prepared for a job that no longer needs it; not answered.
type Forget struct {
	Job     job.ID
	Attempt int
}

// Collect makes systemd forget the unit of a job that has ended; not answered: the next listing
// shows whether it stays. Listings is the number of consecutive listings in which an ended unit
// belonged to no live job. Such a unit is removed, with whatever is in it, if the end of its job is on
// record. If Listings is 0, the job has just ended, and its unit is empty.
type Collect struct {
	Job      job.ID
	Listings int
}

// EndProcess signals one process outside its job's unit; not answered: the next sample shows
// whether it is still there.
type EndProcess gpus.StrayEnd

// Orphan reports a unit that has a job's name but belongs to no job on record; the unit is left
// running. It is not answered.
type Orphan struct{ Job job.ID }

func (Start) action()       {}
func (Hasten) action()      {}
func (Stop) action()        {}
func (Inspect) action()     {}
func (Signal) action()      {}
func (Freeze) action()      {}
func (Keep) action()        {}
func (NotifyOwner) action() {}
func (Deliver) action()     {}
func (Sample) action()      {}
func (Forget) action()      {}
func (Orphan) action()      {}
func (Collect) action()     {}

func (EndProcess) action() {}

// Reply answers the event with the same token: a refusal, or the job after the step (nil for
// commands about a GPU).
type Reply struct {
	Token   Token
	Refusal *job.Refusal
	ID      job.ID
	Job     *job.JobView // nil if the job has ended already, or there is none
	Known   bool         // a submission whose request key was known
	brief   bool         // do not fill in why the job waits

	Each []job.Outcome // of Commands, in order; if shorter, the remaining commands were not executed
	of   []job.ID      // the job of each, until the end of the step
}
