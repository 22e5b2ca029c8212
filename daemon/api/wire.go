package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// Schema is the name and version of every JSON document of this package.
const Schema = "gpusched.v1"

// SocketPath is the socket on which the daemon listens.
const SocketPath = "/run/gpusched/gpusched.sock"

// UserManager is the value of Job.Manager for a unit of a user's own systemd (systemctl --user).
const UserManager = "user"

// SubmitRequest asks to queue one job. For absent fields the site's defaults are used.
type SubmitRequest struct {
	Key string `json:"key,omitempty"` // request key: a second submission with the same key returns the same job
	job.Label
	job.Request
	Program

	DryRun bool `json:"dry_run,omitempty"`

	// Brief selects a reply with only the job's number. Such a reply does not say why the job waits
	// or when it is expected to start, since finding out takes time if the queue is long. The
	// client sends Brief as a Prefer header (RFC 7240). A dry run ignores it.
	Brief bool `json:"-"`
}

// PreferHeader is the header that asks for a brief answer, and PreferBrief is its value.
const (
	PreferHeader = "Prefer"
	PreferBrief  = "return=minimal"
)

// SubmitReply answers a SubmitRequest. After a dry run, the job has no id, and Unit lists the
// properties that the job's unit would get.
type SubmitReply struct {
	Schema string         `json:"schema"`
	Job    Job            `json:"job"`
	Known  bool           `json:"known,omitempty"` // nothing was queued, because Job has the same request key or content
	Unit   []job.Property `json:"unit,omitempty"`
	// Sentence says where the job starts or why it waits. The command line fills it in for people.
	Sentence string `json:"sentence,omitempty"`
}

// Job is one job in the form that everybody may see. Private is added for users who may see it.
// The embedded Request lacks the fields that would show the command.
type Job struct {
	ID   job.ID `json:"id,omitempty"`
	Host string `json:"host,omitempty"` // machine of the job; the command line sets it if it asked several machines
	// Engine is the name of the scheduler that the job belongs to, if that is not the scheduler of
	// this machine. The name is shown before the job's number.
	Engine string `json:"-"`
	Unit   string `json:"unit,omitempty"`
	// Manager is UserManager if the unit belongs to the user's own systemd. Manager is absent if
	// the unit belongs to the machine's systemd. NotEnforced lists the limits that a user's own
	// systemd does not enforce: devices (the job can open GPUs that it was not given), mem, cpus,
	// tasks.
	Manager     string   `json:"manager,omitempty"`
	NotEnforced []string `json:"not_enforced,omitempty"`
	job.Label
	User        string       `json:"user"`
	UID         int          `json:"uid"`
	UIDNow      string       `json:"uid_now,omitempty"` // account that has the uid now, if this is not the account User
	State       job.State    `json:"state"`
	SubmittedAt time.Time    `json:"submitted_at"`
	PlacedAt    time.Time    `json:"placed_at,omitzero"`
	StartedAt   time.Time    `json:"started_at,omitzero"`
	EndedAt     time.Time    `json:"ended_at,omitzero"`
	Attempt     int          `json:"attempt,omitempty"`
	GPUs        []Allocation `json:"gpus,omitempty"` // empty if the job is queued again

	job.Request
	MemDefaulted bool             `json:"mem_defaulted,omitempty"`
	After        []job.Dependency `json:"after,omitempty"` // dependencies that are not met yet
	Array        *Array           `json:"array,omitempty"` // only for an array
	Task         *Task            `json:"task,omitempty"`  // only for a task of an array; before its start it has no id

	QueuedAt  time.Time `json:"queued_at,omitzero"` // time at which the job's wait began
	HeldBy    string    `json:"held_by,omitempty"`
	NotBefore time.Time `json:"not_before,omitzero"` // after a failure: time before which the job does not start
	// These fields describe the suspension of a running job: since when, by whom, and when it
	// resumes by itself (absent: never). The last field is the time of earlier suspensions in the
	// same attempt. This time does not count against the time limit.
	SuspendedAt    time.Time `json:"suspended_at,omitzero"`
	SuspendedBy    string    `json:"suspended_by,omitempty"`
	SuspendedUntil time.Time `json:"suspended_until,omitzero"`
	SuspendedTime  job.Span  `json:"suspended_seconds,omitempty"`
	// A parked job is suspended, too. ParkedTime is the part of SuspendedTime for which it was
	// parked. Unparkable says why the driver could not park the job.
	Parked     *Parked  `json:"parked,omitempty"`
	ParkedTime job.Span `json:"parked_seconds,omitempty"`
	Unparkable string   `json:"unparkable,omitempty"`

	Failures int `json:"failures,omitempty"` // number of failed attempts
	Requeues int `json:"requeues,omitempty"` // how often the job was queued again after an attempt began, for any cause

	ExpectedStart     time.Time `json:"expected_start,omitzero"`      // from predicted run times; absent: unknown
	ExpectedStartFrom time.Time `json:"expected_start_from,omitzero"` // start of a range that is right in 4 of 5 cases
	ExpectedStartBy   time.Time `json:"expected_start_by,omitzero"`   // end of that range; absent: unknown
	StartUnknown      bool      `json:"start_unknown,omitempty"`      // the run times of jobs before this job are unknown
	StartUnknownWhy   string    `json:"start_unknown_why,omitempty"`  // which jobs these are, and why

	ExpectedEnd time.Time `json:"expected_end,omitzero"`      // for a running job
	Expected    job.Span  `json:"expected_seconds,omitempty"` // predicted run time

	GPUMemAuto       bool  `json:"gpu_mem_auto,omitempty"`        // gpu_mem_bytes was derived from earlier runs
	GPUMemKnownBytes int64 `json:"gpu_mem_known_bytes,omitempty"` // highest memory on one GPU in the command's past runs

	PromisedCPUs int           `json:"promised_cpus,omitempty"` // CPUs that count as taken while the job has an allocation
	PeakMemBytes int64         `json:"peak_mem_bytes,omitempty"`
	MemLentBytes int64         `json:"mem_lent_bytes,omitempty"` // the part of mem_bytes that is lent to other jobs
	CPUSeconds   float64       `json:"cpu_seconds,omitempty"`
	Result       *Result       `json:"result,omitempty"`
	Warnings     []job.Warning `json:"warnings,omitempty"`
	Reasons      []Reason      `json:"reasons,omitempty"` // why the job waits
	Why          string        `json:"why,omitempty"`     // the reasons as one short line
	Private      *Private      `json:"private,omitempty"`

	// Params has the values of a task's parameters by name.
	// The command line fills it in for users who may see them.
	Params map[string]string `json:"params,omitempty"`

	// MainPID and Command are the main process and the command of a running job.
	// The command line fills them in if it is asked to.
	MainPID int    `json:"main_pid,omitempty"`
	Command string `json:"-"`

	// These fields are for one row of several tasks of an array in the same state (ByState).
	// Together has the tasks' numbers, such as "0-2,7". Alike is the number of tasks. Older says
	// whether more tasks may have ended before those in the listing.
	Together string `json:"-"`
	Alike    int    `json:"-"`
	Older    bool   `json:"-"`

	InvocationID  string        `json:"invocation_id,omitempty"`
	StopRequested job.StopCause `json:"stop_requested,omitempty"` // "": nobody has asked for a stop
	StopFor       job.ID        `json:"stop_for,omitempty"`       // for a preempted job: the job that needs its room
}

// Array describes an array of tasks and its progress.
type Array struct {
	Spec   string `json:"spec"` // numbers of the tasks, and after % the Limit, such as "0-9%2"
	Size   int    `json:"size"`
	Limit  int    `json:"limit,omitempty"` // maximum number of tasks that run at once; 0: no limit
	Next   int    `json:"next"`            // number of tasks that have become jobs
	Live   int    `json:"live"`            // number of these jobs that have not ended
	Failed int    `json:"failed"`          // number of these jobs that ended without completing

	Cancelled int `json:"cancelled,omitempty"` // tasks that were cancelled before they became jobs

	// SkippedTasks lists the tasks after the next one that were cancelled, or became jobs early. It is
	// like WaitingTasks.
	SkippedTasks string `json:"skipped_tasks,omitempty"`

	// Waiting is the number of tasks that wait again after an attempt. WaitingTasks lists these
	// tasks, and RunningTasks all other live tasks. Each list is like "0-2,7", and is shortened if
	// long.
	Waiting      int    `json:"waiting,omitempty"`
	Held         int    `json:"held,omitempty"` // number of the tasks in Waiting that are held
	WaitingTasks string `json:"waiting_tasks,omitempty"`
	RunningTasks string `json:"running_tasks,omitempty"`

	TooManyFailed bool `json:"too_many_failed,omitempty"` // no task starts until someone releases the array (max_failures)
}

// Task says which task of an array a job is.
type Task struct {
	job.Task
	Name string `json:"name"` // such as "7_3"
}

// Allocation is a job's part of a GPU, and what the job uses of that GPU.
// Milli is 1000 for a whole GPU.
type Allocation struct {
	contract.GPU

	UsedBytes int64    `json:"used_bytes,omitempty"`   // memory in the last sample, while the job runs; -1: unknown
	PeakBytes int64    `json:"peak_bytes,omitempty"`   // highest memory in any sample
	Seen      job.Span `json:"seen_seconds,omitempty"` // time for which the GPU was sampled
	Busy      job.Span `json:"busy_seconds,omitempty"` // part of Seen in which the GPU computed, for any job
	Idle      job.Span `json:"idle_seconds,omitempty"` // time since the job last used the GPU

	BusyPeakPercent *int     `json:"busy_peak_percent,omitempty"` // highest utilization in a sample; absent: unknown
	MeanBytes       *int64   `json:"mean_bytes,omitempty"`        // average memory over time; absent: unknown
	EnergyJoules    *float64 `json:"energy_joules,omitempty"`     // the job's part of the GPU's energy; absent: unknown
}

// Private is the part of a job that only its owner and administrators see.
type Private struct {
	Command string `json:"command"` // Argv in a form for people: quoted for a shell, and printable
	Program
	Screen string      `json:"screen,omitempty"` // GNU screen session of the latest attempt
	Params []job.Param `json:"params,omitempty"` // all values for an array, the task's own for a task

	Scratch    string `json:"scratch,omitempty"`     // scratch directory of the latest attempt
	LogPattern string `json:"log_pattern,omitempty"` // path of the log as submitted, with its sequences
	SetupCut   bool   `json:"setup_cut,omitempty"`   // the set-up was too long to be kept after the job's end

	NotifyTo []string `json:"notify_to,omitempty"` // addresses and URLs for Request.Notify, in the same order
}

// Result says how a job ended. Its cause is never "cancel" or "time-limit", because these are
// outcomes.
type Result = job.ShownResult

// Reason is one reason why a job waits.
type Reason struct {
	job.Reason
	Detail   string      `json:"detail,omitempty"`
	Why      job.Message `json:"why,omitzero"` // Detail as a code with arguments
	Sentence string      `json:"sentence"`
	Said     job.Message `json:"said,omitzero"` // the reason in the words of another scheduler (Engine)
}

// ListReply answers a listing. Live jobs are first, in queue order,
// and then ended jobs, newest first.
type ListReply struct {
	Schema string `json:"schema"`
	Jobs   []Job  `json:"jobs"`
	GPUs   []GPU  `json:"gpus"`

	Omitted int `json:"omitted,omitempty"` // number of selected waiting jobs that ListQuery.Waiting left out

	Drain *Drain `json:"drain,omitempty"` // present while no job may start, or a shutdown is planned

	Recent *Recent `json:"recent,omitempty"` // set if the query asked for it

	Hosts []HostAnswer `json:"hosts,omitempty"` // the command line sets it if it asked several machines
}

// Recent counts the caller's jobs that ended recently. The tasks of an array count, not the array.
type Recent struct {
	Since  time.Time `json:"since"`
	Ended  int       `json:"ended"`
	Failed int       `json:"failed,omitempty"` // jobs that neither completed nor were cancelled
}

// Drain is an administrator's order that no job may start, or a planned shutdown of the machine.
// Before a shutdown, a job may start only if it ends in time.
type Drain struct {
	By       string    `json:"by,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	At       time.Time `json:"at,omitzero"`
	Until    time.Time `json:"until,omitzero"` // time at which the order ends by itself; absent: never
	Sentence string    `json:"sentence"`

	Reboot *job.Reboot `json:"reboot,omitempty"` // the reboot for which the machine is drained

	Ends *job.Shutdown `json:"ends,omitempty"` // the planned shutdown; absent: no job may start at all
}

// JobReply answers a request about one job, such as show, why, cancel or wait.
type JobReply struct {
	Schema   string    `json:"schema"`
	Job      Job       `json:"job"`
	Attempts []Attempt `json:"attempts,omitempty"` // only for show, oldest first
	Messages []Message `json:"messages,omitempty"` // only for show, if the caller may see the private part
	Results  *Results  `json:"results,omitempty"`  // for an array, if the query asked for it
	Queue    *Queue    `json:"queue,omitempty"`    // for a waiting job, if the query asked for it
	Printed  bool      `json:"printed,omitempty"`  // the journal has all output so far; only for show, if the query asked
}

// Results says how the tasks of an array ended.
type Results struct {
	Tasks     []TaskGroup `json:"tasks"`
	Forgotten int         `json:"forgotten,omitempty"` // ended tasks that are no longer on record
	Runs      *RunTimes   `json:"run_times,omitempty"` // absent if no task has completed

	ForgottenTasks string `json:"forgotten_tasks,omitempty"`

	ExpectedEnd time.Time `json:"expected_end,omitzero"` // expected end of the last task; set by the command line
}

// TaskGroup is all tasks of an array in one state.
// Ended tasks are divided further by how they ended.
type TaskGroup struct {
	State    job.State `json:"state"`
	Code     int       `json:"code,omitempty"`     // exit status that 'gpusched wait' would have
	Signal   int       `json:"signal,omitempty"`   // signal that ended the tasks
	Sentence string    `json:"sentence,omitempty"` // how the first of the tasks ended, or what the tasks wait for
	Started  bool      `json:"started,omitempty"`  // the tasks have become jobs
	Count    int       `json:"count"`
	Tasks    string    `json:"tasks"` // the tasks' numbers, such as "0-2,7,10-20:5"
}

// RunTimes sums up the run times of completed tasks, in seconds.
type RunTimes struct {
	Of       int     `json:"of"` // number of tasks
	Median   float64 `json:"median_seconds"`
	Shortest float64 `json:"shortest_seconds"`
	Longest  float64 `json:"longest_seconds"`
}

// Attempt is one attempt of a job, without the fields that only the scheduler needs.
type Attempt struct {
	job.Attempt
	GPUs   []Allocation `json:"gpus,omitempty"`
	Result *Result      `json:"result,omitempty"`
}

// Message is a message that a job's owner asked for (Request.Notify).
type Message struct {
	Event    job.NotifyEvent `json:"event"` // start or end
	Which    int             `json:"which"` // index in Request.Notify
	Way      job.NotifyWay   `json:"way"`
	At       time.Time       `json:"at"` // time of the event
	Tries    int             `json:"tries,omitempty"`
	Next     time.Time       `json:"next,omitzero"`   // time of the next try
	Closed   time.Time       `json:"closed,omitzero"` // time at which it was sent or given up; absent: still to be sent
	Sent     bool            `json:"sent,omitempty"`
	Sentence string          `json:"sentence,omitempty"` // why the last try failed
}

// WebhookMessage is the document that is posted to a webhook. Chat programs show its text.
type WebhookMessage struct {
	Schema string          `json:"schema"`
	ID     string          `json:"id"`    // the same at every try to deliver the message
	Event  job.NotifyEvent `json:"event"` // start or end
	At     time.Time       `json:"at"`
	Host   string          `json:"host"`
	Text   string          `json:"text"` // whole message in one line, without characters that chat programs interpret
	Job    Job             `json:"job"`  // only the public part
}

// CancelRequest ends a job. If the request has a signal, the job only gets that signal.
type CancelRequest struct {
	Signal int  `json:"signal,omitempty"`
	Main   bool `json:"main,omitempty"` // send the signal only to the main process

	// Grace is the time from SIGTERM to SIGKILL. Its default and its maximum are the job's own
	// grace time. Grace is not allowed with a signal.
	Grace *job.Span `json:"grace_seconds,omitempty"`

	// Unawaited cancels the job only if no other job depends on it.
	// Otherwise the request fails with CodeConflict. Unawaited is not allowed with a signal.
	Unawaited bool `json:"unawaited,omitempty"`
}

// ManyRequest applies a command to many jobs, in the given order.
type ManyRequest struct {
	Command job.CommandKind `json:"command"` // cancel, signal, hold, release, requeue, suspend, resume, park, unpark or update
	Jobs    []string        `json:"jobs"`    // such as "12" or "7_3"
	Signal  int             `json:"signal,omitempty"`
	Main    bool            `json:"main,omitempty"`          // send the signal only to the main process
	Change  *job.Change     `json:"change,omitempty"`        // only for update
	Grace   *job.Span       `json:"grace_seconds,omitempty"` // only for cancel
	Brief   bool            `json:"brief,omitempty"`         // answer with only each job's name, owner, state and result
}

// ManyPart is one line of the answer to a ManyRequest, with the outcomes of some jobs. The last
// line has Done or Error. If it has Error, the command may have changed some of the remaining jobs,
// but will not change any more of them.
type ManyPart struct {
	Schema  string       `json:"schema"`
	Jobs    []Job        `json:"jobs,omitempty"`
	Refused []RefusedJob `json:"refused,omitempty"`
	Done    bool         `json:"done,omitempty"`
	Error   *Error       `json:"error,omitempty"`
}

// RefusedJob is a job for which the command was refused, with the reason.
type RefusedJob struct {
	Job   string `json:"job"`
	Error Error  `json:"error"`
}

// LogLevelRequest sets the daemon's log level until the daemon restarts:
// debug, info, warn or error. "" restores the configured level.
type LogLevelRequest struct {
	Level string `json:"level"`
}

// LogLevelReply has the present log level of the daemon and the configured level.
type LogLevelReply struct {
	Schema   string `json:"schema"`
	Level    string `json:"level"`
	Settings string `json:"settings"`
}

// StatusReply is a summary of the daemon, its jobs and its GPUs.
type StatusReply struct {
	Schema    string            `json:"schema"`
	Version   string            `json:"version"`
	StartedAt time.Time         `json:"started_at"`
	Health    job.Health        `json:"health"`          // worst health of all checks
	Counts    map[job.State]int `json:"counts"`          // live jobs by state
	Drain     *Drain            `json:"drain,omitempty"` // present while no job may start, or a shutdown is planned
	Host      job.HostView      `json:"host"`
	GPUs      []GPU             `json:"gpus"`
	Running   []Job             `json:"running"`
	Waiting   []Job             `json:"waiting"` // the first few waiting jobs

	Totals  *job.Totals `json:"totals,omitempty"`
	Problem *job.Check  `json:"problem,omitempty"` // first of the checks with the worst health

	RebootDue string `json:"reboot_due,omitempty"` // an upgrade needs a reboot: since when, and which packages

	Hosts []HostAnswer `json:"hosts,omitempty"` // the command line sets it if it asked several machines
}

// HealthReply lists the daemon's checks of its parts.
type HealthReply struct {
	Schema string      `json:"schema"`
	Health job.Health  `json:"health"` // worst health of all checks
	Checks []job.Check `json:"checks"`
}

// VersionReply has the versions of the running daemon.
type VersionReply struct {
	Schema  string `json:"schema"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`

	KeepScripts bool `json:"keep_scripts,omitempty"` // jobs run copies of their scripts (jobs.snapshot)
}
