package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/job"
)

// Effects are the results of one Step, to be executed in this order: store Records in one
// transaction, start Actions, send Replies. The events in News are announced together with the
// records.
type Effects struct {
	Records []job.Record
	Actions []Action
	Replies []Reply
	News    []job.Event // events that no record shows; their numbers and times are not set yet
}

// Action is something to do outside the core. An event answers most actions.
type Action interface{ action() }

// Start starts the unit of the job's current attempt. It is answered by Started or StartFailed.
// SampledAt is the end of the sample on which the start relies. If the start relies on no sample,
// SampledAt is zero.
type Start struct {
	Job       job.Job
	SampledAt time.Time
}

// Hasten finds out why a start takes long, and undoes what the job's user may have done to delay
// it. The core asks for it when a start becomes slow, and again when the job is to be stopped. If
// it finds the cause, it is answered by StartSlow.
type Hasten struct {
	Job   job.Job
	Again bool
}

// Whose distinguishes a job's unit from any other unit of the same name.
type Whose struct {
	UID        int    // the job's owner
	Invocation string // systemd's id for the run of the unit; "": not known yet
	Attempt    int    // a unit of an earlier attempt does not match; 0: any attempt
}

func whose(j *job.Job) Whose { return Whose{UID: j.Owner.UID, Invocation: j.Attempt.InvocationID} }

// Stop ends every process of the job's unit and collects the unit. It is answered by Stopped.
// InspectFirst is set if the end of the job's command is not known yet. The unit is then read
// first, and is left alone if it has ended by itself. Another unit that has the name of the job's
// unit is left alone.
type Stop struct {
	Job     job.ID
	Attempt int
	Whose
	Grace        time.Duration // the time from SIGTERM to SIGKILL, as set in the unit
	InspectFirst bool
	Thaw         bool        // the unit may be frozen: thaw its processes first
	Notice       NotifyOwner // sent before the stop, unless it is empty
}

// Inspect asks systemd about the job's unit. It is answered by Inspected. If another unit has that
// name, the job's unit counts as absent. Early means that the unit's start has not been answered
// yet.
type Inspect struct {
	Job     job.ID
	Attempt int
	Whose   Whose
	Early   bool
}

// Signal sends a job's processes its warning signal, or SIGKILL. It is answered by Signalled.
// Another unit that has the name of the job's unit gets no signal.
type Signal struct {
	Job     job.ID
	Attempt int
	Signal  int
	Main    bool // only to the main process
	Whose   Whose
}

// Freeze freezes or thaws a job's unit. It is not answered. If it was lost, a later inspection
// shows that.
type Freeze struct {
	Job     job.ID
	Attempt int
	Thaw    bool
}

// SetMemory changes the memory limit of a job's unit. Above the amount High, the kernel slows the
// job down. 0 means that there is no such limit. It is answered by MemorySet.
type SetMemory struct {
	Job         job.ID
	Attempt     int
	Limit, High int64
}

// Park makes the driver copy the GPU memory of the job's processes to the host, all of them or
// none. Then it closes the job's GPUs to the unit and freezes the unit, if Freeze is set. It may be
// done twice. It is answered by Parked.
type Park struct {
	Job       job.ID
	Attempt   int
	Whose     Whose
	GPUs      []job.Allocation
	From      []job.Allocation // of Unpark: the GPUs from which GPUs[i] takes over; nil: the same
	Processes []job.ParkedProcess
	Bytes     int64 // how much the driver is to copy
	Freeze    bool
}

// Unpark undoes Park: it opens the GPUs to the unit, thaws it, and makes the driver copy the memory
// back. It may be done twice. It is answered by Unparked. If the driver can't copy the memory to other
// GPUs than before, the answer is ParkRefused, and the job is parked as before.
type Unpark Park

// Keep stores decisions about a running job outside the state file. It is not answered.
type Keep struct {
	Job     job.ID
	Attempt int
	What    job.Kept
}

// NotifyOwner writes sentences for the job's owner into a running job's journal, one per line. It
// is not answered, and may be lost: views show the same facts.
type NotifyOwner struct {
	Job job.ID
	UID int // the owner
	Say []job.Message
}

// Deliver sends a message to the recipient that the job's owner chose. It is answered by Delivered.
type Deliver struct{ job.Notification }

// Sample asks for a sample of the GPUs that begins now or later. It may begin before the records
// are stored. It is answered by Sampled with this number or a higher one.
type Sample struct{ Number uint64 }

// Forget removes what was prepared for an attempt of a job that has ended. It is not answered.
type Forget struct {
	Job     job.ID
	Attempt int
}

// Collect makes systemd forget the unit of a job that has ended. It is not answered: the next
// listing shows whether the unit is gone. Listings is the number of consecutive listings in which
// the unit had ended and belonged to no live job. Such a unit is removed, with everything in it, if
// the end of its job is on record. If Listings is 0, the job has just ended, and its unit is empty.
type Collect struct {
	Job      job.ID
	Listings int
}

// EndProcess signals one process that left its job's unit, or a foreign process (the job is then
// 0). It is not answered: the next sample shows whether the process still exists.
type EndProcess gpus.StrayEnd

// TellStranger tells a user, on all the user's terminals, that processes of the user are on GPUs of
// other users' jobs. It is answered by StrangerTold. It may be lost if the daemon ends: views show the
// same facts.
type TellStranger struct{ job.Strangers }

// Prove tests a GPU with CUDA. It is answered by Proved. If an earlier daemon began such a test and
// the test still runs, that test goes on.
type Prove gpus.ProofWanted

// Orphan reports a unit that has a job's name but belongs to no job on record. The unit is left
// running. The action is not answered.
type Orphan struct{ Job job.ID }

func (Start) action()       {}
func (Hasten) action()      {}
func (Stop) action()        {}
func (Inspect) action()     {}
func (Signal) action()      {}
func (Freeze) action()      {}
func (SetMemory) action()   {}
func (Park) action()        {}
func (Unpark) action()      {}
func (Keep) action()        {}
func (NotifyOwner) action() {}
func (Deliver) action()     {}
func (Sample) action()      {}
func (Forget) action()      {}
func (Orphan) action()      {}
func (Collect) action()     {}

func (EndProcess) action()   {}
func (TellStranger) action() {}
func (Prove) action()        {}

// Reboot asks for a reboot of the machine. It is answered by RebootRefused if the reboot is
// refused.
type Reboot struct{ By string }

func (Reboot) action() {}

// Reply answers the event that has the same token. It contains a refusal, or else the job as it is
// after the step.
type Reply struct {
	Token   Token
	Refusal *job.Refusal
	ID      job.ID
	Job     *job.JobView // nil if the job has ended already, or if the reply is about no job
	Known   bool         // the submission's request key was known already
	brief   bool         // the reply does not say why the job waits

	Each []job.Outcome // the outcomes of Commands, in order; commands without an outcome were not executed
	of   []job.ID      // the job of each outcome, only used until the end of the step
}
