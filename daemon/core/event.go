package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/accounts"
	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/outbox"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// Event is something that happened outside the core.
type Event interface{ event() }

// Token identifies the request that a reply answers; the core only passes it on.
type Token uint64

// Submit asks to queue a job. The submission has passed Submission.Validate.
type Submit struct {
	Token      Token
	Submission job.Submission
	Forgotten  job.ID // a completed job that --dedup found, and that was then removed from the record; 0: none
}

// Command is a request about a job or a GPU.
type Command struct {
	Token Token
	Who   job.Actor
	What  job.Command
}

// Commands is a list of requests about several jobs. They are executed in order in one step, and no
// job starts between two of them. The reply contains the outcome of each request. If some requests
// are expensive, it may contain only the first outcomes: the remaining requests were not executed.
type Commands struct {
	Token Token
	Who   job.Actor
	List  []job.Command
}

// Sampled is a sample that began after the Sample action with the same number.
type Sampled gpus.Sample

// Phase is the state of a unit.
type Phase int

// The phases of a unit.
const (
	Absent Phase = iota
	Activating
	Active
	Exited // the command has ended, successfully or not; the unit still exists
)

// Unit is the state of a job's unit, as systemd reports it.
type Unit struct {
	Job        job.ID
	Phase      Phase
	Invocation string
	Frozen     bool          // all processes of the unit are frozen
	Spent      bool          // in phase Exited: the unit has no processes left, and stopping it would run no command
	MemMax     int64         // in phase Active: the unit's memory limit; 0: none
	MemHigh    int64         // likewise: above this amount, the kernel slows the unit down
	Unfiltered bool          // the launcher reported that the device filter is not active
	Age        time.Duration // the time since the unit became active, by a clock that can't be set; 0: unknown
	EndAge     time.Duration // the time since the unit's main process ended, by the same clock; 0: unknown
	Old        time.Duration // the time since systemd reported this state
	Exit       contract.Exit // in phase Exited: how the command ended
	Used       job.HostUse
}

// Started answers a Start action that worked. Unit is the state of the started unit.
type Started struct {
	Job     job.ID
	Attempt int
	Unit    Unit
}

// StartFailure says how a Start action failed.
type StartFailure int

const (
	StartUnsure  StartFailure = iota // the connection to the bus broke; the unit may or may not exist
	StartExists                      // a unit of that name exists already
	StartTaken                       // another unit has the name of the job's unit; Detail says whose
	StartRefused                     // systemd refuses to run the unit; Detail says why
	StartLater                       // the start did not begin, for a temporary cause that Detail names
	StartBarred                      // the job's user can't run anything; Detail says why
	StartGone                        // Heir, another account, now has the number of the job's owner or person
	StartNamed                       // Heir is the job's owner or person, whose name was unknown at the submission
	StartJoined                      // the job's person is in groups with a quota that are not on record: see Enrolled
	StartStale                       // the sample of the GPUs is too old by now, so systemd was not asked
)

// StartFailed answers a Start action that failed.
type StartFailed struct {
	Job     job.ID
	Attempt int
	How     StartFailure
	Launch  contract.Step
	Detail  string
	Heir    job.Account
}

// AccountGone says that an account with waiting jobs has lost its number. The field Was is the old
// account's name, and Heir the account that now has the number.
type AccountGone struct {
	Was  string
	Heir job.Account
}

// StartSlow says that the answer to a Start action is late, and why if the cause is known.
type StartSlow struct {
	Job     job.ID
	Attempt int
	Why     string
}

// Stopped answers a Stop action. If OK is set, the unit has no processes left and is collected;
// otherwise that is uncertain. If the action asked for an inspection, the field Before has the
// state of the unit before the stop. If that state says that the unit had ended by itself, the unit
// was not stopped and still exists. Running is the number of processes that the job's command had
// left running at its end, if that number is known. Left is a text for people about the processes
// that survived SIGKILL; it is empty if none are known.
type Stopped struct {
	Job     job.ID
	Attempt int
	OK      bool
	Before  Unit
	Running int
	Left    string
}

// Inspected answers an Inspect action. OK is false if systemd could not be asked. Early has the
// value that it has in the action.
type Inspected struct {
	Job     job.ID
	Attempt int
	Early   bool
	Unit    Unit
	OK      bool
}

// Changed says that something happened to a unit.
type Changed struct{ Job job.ID }

// Signalled answers a Signal action. OK means that the job got the signal. Refused means that, by
// systemd's answer, the job did not get it. Unsent means that no signal was sent, because systemd
// did not say whose the unit is. If none of these is set, nobody knows whether the job got the
// signal.
type Signalled struct {
	Job     job.ID
	Attempt int
	OK      bool
	Refused bool
	Unsent  bool
}

// MemorySet answers a SetMemory action. OK means that the unit has got that limit.
type MemorySet struct {
	SetMemory
	OK bool
}

// ParkEnd says how a Park or an Unpark action ended.
type ParkEnd int

const (
	ParkDone    ParkEnd = iota
	ParkUnsure          // it is to be done again: systemd gave no answer
	ParkFailed          // it is to be done again for some time: the driver's program failed or hung
	ParkRefused         // the driver can't park the processes; they run as before, on their GPUs
	ParkBroken          // the driver can't go on with a process: it has lost its GPU memory
)

// Parked answers a Park action. Says has the driver's word. Took is how long the driver copied; 0:
// unknown, because an earlier action had copied already.
type Parked struct {
	Job     job.ID
	Attempt int
	End     ParkEnd
	Says    string
	Took    time.Duration
}

// Unparked answers an Unpark action.
type Unparked Parked

// Listed is the list of all job units. It arrives at the daemon's start and from time to time.
// Recovered lists jobs that are known only from their units: they were never recorded, or the
// record is lost.
//
// Taken lists jobs on record. The unit that has such a job's name belongs to somebody else.
//
// Boot is the kernel's id of the boot, which tells the GPU errors of different boots apart. Run is
// the run of systemd that started the units: a soft reboot or the restart of a container begins
// another run in the same boot. If Run is empty, Boot identifies the run.
type Listed struct {
	Boot      string
	Run       string
	Units     []Unit
	Recovered []job.Job
	Taken     []Taken
}

// Taken says that the unit with a job's name belongs to somebody else, whom By names.
type Taken struct {
	Job job.ID
	By  string
}

// Closing says that this daemon exits. Jobs continue to run.
type Closing struct{}

// Leaving says that systemd stops everything for a shutdown or a reboot of any kind. If the field
// Not is set, systemd no longer does so.
type Leaving struct{ Not bool }

// Planned reports the shutdown or reboot of the machine that is scheduled. If the time is zero, no
// shutdown or reboot is scheduled.
type Planned struct{ End job.Shutdown }

// RebootRefused answers a Reboot action that failed.
type RebootRefused struct{ Why string }

// Measured is the resource use of running jobs so far.
type Measured struct {
	Usage []Usage
}

// Usage is the host memory and CPU time of one running job.
type Usage struct {
	Job job.ID
	job.HostUse
	MemUsed int64 // the host memory that the job can't give back; 0: unknown, or not asked for
}

// Faulted is an error report of the driver.
type Faulted gpus.ErrorReport

// Proved answers a Prove action.
type Proved gpus.ProofEnded

// Tick says that something may be due, or that failed actions should be retried.
type Tick struct {
	Retry bool
	Clock time.Duration // the amount by which the wall clock was set; 0: it was not set
}

// Delivered answers Deliver.
type Delivered outbox.Report

// StrangerTold answers TellStranger, whether or not the user could be told.
type StrangerTold struct{ UID int }

// Configured is a new policy.
type Configured struct{ Policy site.Policy }

// Enrolled says that some accounts were found to be in further groups with a quota.
type Enrolled struct{ Members []accounts.Member }

func (Submit) event()        {}
func (Command) event()       {}
func (Commands) event()      {}
func (Sampled) event()       {}
func (Started) event()       {}
func (StartFailed) event()   {}
func (StartSlow) event()     {}
func (AccountGone) event()   {}
func (Stopped) event()       {}
func (Inspected) event()     {}
func (Changed) event()       {}
func (Signalled) event()     {}
func (MemorySet) event()     {}
func (Parked) event()        {}
func (Unparked) event()      {}
func (Listed) event()        {}
func (Leaving) event()       {}
func (Closing) event()       {}
func (Planned) event()       {}
func (RebootRefused) event() {}
func (Measured) event()      {}
func (Faulted) event()       {}
func (Proved) event()        {}
func (Tick) event()          {}
func (Delivered) event()     {}
func (StrangerTold) event()  {}
func (Configured) event()    {}
func (Enrolled) event()      {}
