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

// Token names the one who waits for a reply; the core only hands it back.
type Token uint64

// Submit asks to queue a job. The submission has passed Validate.
type Submit struct {
	Token      Token
	Submission job.Submission
	Forgotten  job.ID // the completed job that --dedup found before, which is not on record any more; 0: none
}

// Command asks for something about a job or a GPU.
type Command struct {
	Token Token
	Who   job.Actor
	What  job.Command
}

// Commands asks for something about several jobs, in this order and in one step: nothing is planned, and
// so no job starts, between two of them. The reply has the outcome of each, or, where some are dear, of the
// first ones: nothing was done about the rest.
type Commands struct {
	Token Token
	Who   job.Actor
	List  []job.Command
}

// Sampled brings a sample, which began after the Sample action with its number.
type Sampled gpus.Sample

// Phase is where a unit is.
type Phase int

// The phases of a unit.
const (
	Absent Phase = iota
	Activating
	Active
	Exited // the command ended, successfully or not; the unit still exists
)

// Unit is what systemd says of a job's unit.
type Unit struct {
	Job        job.ID
	Phase      Phase
	Invocation string
	Frozen     bool          // all its processes are halted
	Spent      bool          // in phase Exited: no process is left in it, and its stop runs nothing
	Unfiltered bool          // the launcher said that the device filter is not active
	Age        time.Duration // since it became active, by a clock that can't be set; 0: unknown
	EndAge     time.Duration // since its main process ended, by the same clock; 0: unknown
	Old        time.Duration // since systemd said all this
	Exit       contract.Exit // in phase Exited, with what it used up to then
	Used       job.HostUse
}

// Started answers a Start action: the unit was started and is as Unit says.
type Started struct {
	Job     job.ID
	Attempt int
	Unit    Unit
}

// StartFailure says how a Start action failed.
type StartFailure int

// The ways in which a start fails.
const (
	StartUnsure  StartFailure = iota // the bus broke; the unit may exist or not
	StartExists                      // a unit of that name exists already
	StartTaken                       // a unit of that name exists and is not the job's; Detail says whose
	StartRefused                     // systemd will not run it; Detail says why
	StartLater                       // it did not begin, for a reason that passes; Detail says which
	StartBarred                      // its user may run nothing; Detail says why
	StartGone                        // another account has the number of its owner, or its person: Heir
	StartNamed                       // Heir is the owner, or its person, whose name was not known at the submission
	StartJoined                      // its person is in groups with a quota that are not on its record: see Enrolled
	StartStale                       // systemd was not asked: the look at the GPUs is too old by now
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

// AccountGone says that another account has the number of one whose jobs wait: Heir has that of Was.
type AccountGone struct {
	Was  string
	Heir job.Account
}

// StartSlow says that a Start action that is not answered yet takes long, and what is known of why.
type StartSlow struct {
	Job     job.ID
	Attempt int
	Why     string
}

// Stopped answers a Stop action: no process of the unit is left and the unit
// is collected, or, if not OK, that is not certain. Before is the unit as it
// was before the stop, where the action asked to look: one that had ended by
// itself is still there. Running is the number of processes that the job's command
// had left running, where its end was known. Left says for people which processes
// outlived SIGKILL; "" is nothing known.
type Stopped struct {
	Job     job.ID
	Attempt int
	OK      bool
	Before  Unit
	Running int
	Left    string
}

// Inspected answers an Inspect action. OK is false when systemd could not be
// asked. Early is as in the action.
type Inspected struct {
	Job     job.ID
	Attempt int
	Early   bool
	Unit    Unit
	OK      bool
}

// Changed says that something happened to a unit.
type Changed struct{ Job job.ID }

// Signalled answers a Signal action. Where it is not OK it is not known whether the job got
// the signal, or, if Refused, systemd answered that it did not, or, if Unsent, nothing was sent, as systemd did not
// say whose the unit is.
type Signalled struct {
	Job     job.ID
	Attempt int
	OK      bool
	Refused bool
	Unsent  bool
}

// Listed brings all job units there are, at start and now and then. Recovered
// are jobs that only their units know of: nothing was ever recorded of them, or
// what was is lost.
//
// Taken are the jobs on record whose unit is another job's.
//
// Boot is the kernel's boot, by which errors of GPUs are told apart, and Run the
// run of systemd that the units are of: a soft reboot and the restart of a container
// begin another one in the same boot. "" is that of Boot.
type Listed struct {
	Boot      string
	Run       string
	Units     []Unit
	Recovered []job.Job
	Taken     []Taken
}

// Taken says that a unit with the name of a job is another's, and whose.
type Taken struct {
	Job job.ID
	By  string
}

// Closing says that this daemon ends. Jobs go on.
type Closing struct{}

// Leaving says that systemd stops everything, for a shutdown or a reboot of any
// kind, or, with Not, that it does so no longer.
type Leaving struct{ Not bool }

// Measured brings what running jobs have used so far.
type Measured struct {
	Usage []Usage
}

// Usage is the host memory and CPU time of one running job.
type Usage struct {
	Job job.ID
	job.HostUse
}

// Faulted brings an error report of the driver.
type Faulted gpus.ErrorReport

// Tick says that a deadline may have come, or that pending actions which
// failed should be tried again.
type Tick struct {
	Retry bool
	Clock time.Duration // by how much the wall clock was set; 0: it was not
}

// Delivered answers Deliver.
type Delivered outbox.Report

// Configured brings a new policy.
type Configured struct{ Policy site.Policy }

// Enrolled says in which groups with a quota accounts turned out to be, in addition to those that are known.
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
