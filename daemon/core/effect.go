package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/job"
)

// Effects is what one Step wants done, in this order: Records durable in one
// transaction, then Actions begun, then Replies sent. News are announced with the records.
type Effects struct {
	Records []job.Record
	Actions []Action
	Replies []Reply
	News    []job.Event // that no record has, without a number or a time
}

// Action is something to do outside, which is answered by an event.
type Action interface{ action() }

// Start starts the unit of the job's current attempt; answered by Started or
// StartFailed. Looked is when the look at the GPUs ended on which the start rests; zero
// where it rests on none.
type Start struct {
	Job    job.Job
	Looked time.Time
}

// Hasten finds out why a start takes long, when it becomes slow and again when its job is to be stopped, and undoes
// what its user may have done to it; answered by StartSlow where it finds out why.
type Hasten struct {
	Job   job.Job
	Again bool
}

// Whose tells the unit of a job from another's that has its name.
type Whose struct {
	UID        int    // the owner of the job
	Invocation string // of the unit; "": not known yet
	Attempt    int    // one of an earlier attempt is not it; 0: that does not matter
}

func whose(j *job.Job) Whose { return Whose{UID: j.Owner.UID, Invocation: j.Attempt.InvocationID} }

// Stop ends every process of the job's unit and collects it; answered by
// Stopped. Look asks to read the unit first, since nothing is known of its end
// yet, and to leave it alone if it has ended by itself. Another's unit of that name is
// none of the job's, and left alone.
type Stop struct {
	Job     job.ID
	Attempt int
	Whose
	Grace  time.Duration // that its unit leaves the processes
	Look   bool
	Thaw   bool        // it may be frozen: first of all its processes are to go on
	Notice NotifyOwner // before it; where it says something
}

// Inspect asks systemd about one unit; answered by Inspected. Another's unit of that name
// counts as none. Early: while its start is not answered.
type Inspect struct {
	Job     job.ID
	Attempt int
	Whose   Whose
	Early   bool
}

// Signal sends the processes of a job the warning that it asked for, or SIGKILL; answered by Signalled. Another's unit
// of that name gets none.
type Signal struct {
	Job     job.ID
	Attempt int
	Signal  int
	Main    bool // to its main process alone
	Whose   Whose
}

// Freeze halts all processes of a job's unit, or lets them go on; not answered. A look
// at the unit shows where it was lost.
type Freeze struct {
	Job     job.ID
	Attempt int
	Thaw    bool
}

// Keep has what was decided of a running job outlive the state file; not answered.
type Keep struct {
	Job     job.ID
	Attempt int
	What    job.Kept
}

// NotifyOwner has a running job's owner find some sentences, a line each, in the job's
// journal; not answered. It may be lost, and says nothing that views do not show.
type NotifyOwner struct {
	Job job.ID
	UID int // the owner
	Say []job.Message
}

// Deliver sends a message to whom the job's owner chose; answered by Delivered.
type Deliver struct{ job.Notification }

// Sample asks for a look at the GPUs that begins from now on, whatever is on
// record by then; answered by Sampled with this number or a higher one.
type Sample struct{ Number uint64 }

// Forget removes what was prepared for a job that needs it no more; not
// answered.
type Forget struct {
	Job     job.ID
	Attempt int
}

// Collect has systemd forget the unit of a job that has ended; not answered: the next
// listing shows a unit that stays. Listings is in how many in a row one that has ended was
// without a job that has not: it goes, with what is in it, where the end of its job is on
// record. 0: its job has just ended, with nothing left in its unit.
type Collect struct {
	Job      job.ID
	Listings int
}

// EndProcess sends a signal to one process that is not in its job's unit; not answered: the
// next sample shows whether it is there.
type EndProcess gpus.StrayEnd

// Orphan reports a unit that has a job's name but belongs to no job on record, and goes on;
// not answered.
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

// Reply answers the event with the same token: a refusal, or the job after the
// step (nil for commands about a GPU).
type Reply struct {
	Token   Token
	Refusal *job.Refusal
	ID      job.ID
	Job     *job.JobView // nil where the job has ended already, or there is none
	Known   bool         // a submit whose request key was known
	brief   bool         // why it waits is left out

	Each []job.Outcome // of Commands, in their order; fewer than those: the rest was left alone
	of   []job.ID      // the same, until the end of the step
}
