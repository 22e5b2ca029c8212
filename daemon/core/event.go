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

// Submit asks to queue a job. The submission has passed Validate.
type Submit struct {
	Token      Token
	Submission job.Submission
	Forgotten  job.ID // the completed job that --dedup found before and that is no longer on record; 0: none
}

// Command is a request about a job or a GPU.
type Command struct {
	Token Token
	Who   job.Actor
	What  job.Command
}

// Commands is a list of requests about several jobs, executed in order and in one step: no job
// starts between two of them, since nothing is planned. The reply has the outcome of each, or, if
// some are expensive, of the first ones: the rest was not executed.
type Commands struct {
	Token Token
	Who   job.Actor
	List  []job.Command
}

// Sampled is a sample that began after the Sample action with its number.
type Sampled gpus.Sample

// Phase is the state of a unit.
type Phase int

// The phases of a unit.
const (
	Absent Phase = iota
	Activating
	Active
	Exited // the command ended, successfully or not; the unit still exists
)

// Unit is the state of a job's unit, as systemd reports it.
type Unit struct {
	Job        job.ID
	Phase      Phase
	Invocation string
	Frozen     bool          // all its processes are frozen
	Spent      bool          // in phase Exited: it has no processes left, and stopping it runs nothing
	Unfiltered bool          // the launcher reported that the device filter is not active
	Age        time.Duration // since it became active, by a clock that can't be set; 0: unknown
	EndAge     time.Duration // since its main process ended, by the same clock; 0: unknown
	Old        time.Duration // the age of this report
	Exit       contract.Exit // in phase Exited, with what it used up to then
	Used       job.HostUse
}

// Started answers a Start action: the unit was started and is in the state Unit.
type Started struct {
	Job     job.ID
	Attempt int
	Unit    Unit
}

// StartFailure is the way in which a Start action failed.
type StartFailure int

const (
	StartUnsure  StartFailure = iota // the bus broke; the unit may exist or not
	StartExists                      // a unit of that name exists already
	StartTaken                       // a unit of that name exists and is not the job's; Detail says whose
	StartRefused                     // systemd refuses to run it; Detail says why
	StartLater                       // it did not begin, for a temporary cause; Detail says which
	StartBarred                      // its user can't run anything; Detail says why
	StartGone                        // another account, Heir, has the number of its owner or its person
	StartNamed                       // Heir is the owner or its person, whose name was unknown at the submission
	StartJoined                      // its person is in groups with a quota that its record lacks: see Enrolled
	StartStale                       // systemd was not asked: the sample of the GPUs is too old by now
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

// AccountGone says that another account has taken over the number of an account whose jobs wait:
// Heir has Was's.
type AccountGone struct {
	Was  string
	Heir job.Account
}

// StartSlow says that a Start action has not been answered for long, and why if that is known.
type StartSlow struct {
	Job     job.ID
	Attempt int
	Why     string
}

// Stopped answers a Stop action. If OK, the unit has no processes left and is collected; otherwise
// that is uncertain. Before is the unit before the stop, if the action asked for it: a unit that
// had ended by itself still exists. Running is the number of processes that the job's command had
// left running, if its end was known. Left names, for people, the processes that outlived SIGKILL;
// "" if none are known.
type Stopped struct {
	Job     job.ID
	Attempt int
	OK      bool
	Before  Unit
	Running int
	Left    string
}

// Inspected answers an Inspect action. OK is false if systemd could not be asked. Early is as in
// the action.
type Inspected struct {
	Job     job.ID
	Attempt int
	Early   bool
	Unit    Unit
	OK      bool
}

// Changed says that something happened to a unit.
type Changed struct{ Job job.ID }

// Signalled answers a Signal action. If it is not OK, it is unknown whether the job got the signal;
// but if Refused, systemd answered that it did not, and if Unsent, nothing was sent, since systemd
// did not say whose the unit is.
type Signalled struct {
	Job     job.ID
	Attempt int
	OK      bool
	Refused bool
	Unsent  bool
}

// Listed is the list of all job units, at start and from time to time. Recovered are jobs known
// from their units alone: they were never recorded, or the record is lost.
//
// Taken are the jobs on record whose unit is another job's.
//
// Boot is the kernel's boot, which tells the errors of GPUs apart. Run is the run of systemd that
// the units belong to: a soft reboot or the restart of a container begins another run in the same
// boot. An empty Run means that Boot names it.
type Listed struct {
	Boot      string
	Run       string
	Units     []Unit
	Recovered []job.Job
	Taken     []Taken
}

// Taken says that the unit with a job's name belongs to somebody else, and to whom.
type Taken struct {
	Job job.ID
	By  string
}

// Closing says that this daemon exits. Jobs go on.
type Closing struct{}

// Leaving says that systemd stops everything, for a shutdown or a reboot of any kind, or, with Not,
// that it no longer does.
type Leaving struct{ Not bool }

// Measured is what running jobs have used so far.
type Measured struct {
	Usage []Usage
}

// Usage is the host memory and CPU time of one running job.
type Usage struct {
	Job job.ID
	job.HostUse
}

// Faulted is an error report of the driver.
type Faulted gpus.ErrorReport

// Tick says that a deadline may have passed, or that failed actions should be retried.
type Tick struct {
	Retry bool
	Clock time.Duration // how far the wall clock was set; 0: it was not
}

// Delivered answers Deliver.
type Delivered outbox.Report

// Configured is a new policy.
type Configured struct{ Policy site.Policy }

// Enrolled lists groups with a quota that accounts turned out to be in, besides the known ones.
type Enrolled struct{ Members []accounts.Member }

func (Submit) event()      {}
func (Command) event()     {}
func (Commands) event()    {}
func (Sampled) event()     {}
func (Started) event()     {}
func (StartFailed) event() {}
func (StartSlow) event()   {}
func (AccountGone) event() {}
func (Stopped) event()     {}
func (Inspected) event()   {}
func (Changed) event()     {}
func (Signalled) event()   {}
func (Listed) event()      {}
func (Leaving) event()     {}
func (Closing) event()     {}
func (Measured) event()    {}
func (Faulted) event()     {}
func (Tick) event()        {}
func (Delivered) event()   {}
func (Configured) event()  {}
func (Enrolled) event()    {}
