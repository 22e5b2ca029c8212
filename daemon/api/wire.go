package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// Schema names the version of every JSON document of this package.
const Schema = "gpusched.v1"

// SocketPath is the socket on which the daemon listens.
const SocketPath = "/run/gpusched/gpusched.sock"

// UserManager is the Job.Manager of a unit that belongs to a user's own systemd (systemctl --user).
const UserManager = "user"

// SubmitRequest asks to queue one job. Absent fields take the site's defaults.
type SubmitRequest struct {
	Key string `json:"key,omitempty"` // request key: a second submit with the same key returns the same job
	job.Label
	job.Request
	Program

	DryRun bool `json:"dry_run,omitempty"`

	// Brief asks for the job's number alone. It leaves out why the job waits and when it is
	// expected to start, which takes time with a long queue. It travels as the preference that RFC
	// 7240 defines for this. A dry run ignores it.
	Brief bool `json:"-"`
}

// PreferHeader and PreferBrief are the header that asks for a brief answer, and its value.
const (
	PreferHeader = "Prefer"
	PreferBrief  = "return=minimal"
)

// SubmitReply answers a SubmitRequest. After a dry run the job has no id, and Unit lists the
// properties that its unit would get.
type SubmitReply struct {
	Schema string         `json:"schema"`
	Job    Job            `json:"job"`
	Known  bool           `json:"known,omitempty"` // nothing was queued: the request key or the content belongs to this job already
	Unit   []job.Property `json:"unit,omitempty"`
	// Sentence tells a person where the job starts or why it waits. The command line fills it in.
	Sentence string `json:"sentence,omitempty"`
}

// Job is one job as everybody may see it, with Private for those who may see that. The embedded
// Request leaves out whatever reveals the command.
type Job struct {
	ID   job.ID `json:"id,omitempty"`
	Host string `json:"host,omitempty"` // the machine that has the job, if several were asked; the command line fills it in
	// Engine is shown before the number of a job that is not one of this machine's own.
	Engine string `json:"-"`
	Unit   string `json:"unit,omitempty"`
	// Manager is UserManager if the unit belongs to the user's own systemd, and absent if it
	// belongs to the machine's. NotEnforced lists the limits that nothing enforces for such a job:
	// devices (it can open GPUs that it was not given), mem, cpus, tasks.
	Manager     string   `json:"manager,omitempty"`
	NotEnforced []string `json:"not_enforced,omitempty"`
	job.Label
	User        string       `json:"user"`
	UID         int          `json:"uid"`
	UIDNow      string       `json:"uid_now,omitempty"` // the account that has UID now, if that is not User
	State       job.State    `json:"state"`
	SubmittedAt time.Time    `json:"submitted_at"`
	PlacedAt    time.Time    `json:"placed_at,omitzero"`
	StartedAt   time.Time    `json:"started_at,omitzero"`
	EndedAt     time.Time    `json:"ended_at,omitzero"`
	Attempt     int          `json:"attempt,omitempty"`
	GPUs        []Allocation `json:"gpus,omitempty"` // empty for a job that waits again

	job.Request
	MemDefaulted bool             `json:"mem_defaulted,omitempty"`
	After        []job.Dependency `json:"after,omitempty"` // the dependencies that are not met yet
	Array        *Array           `json:"array,omitempty"` // set for an array
	Task         *Task            `json:"task,omitempty"`  // set for a task of an array; a task that has not started has no id

	QueuedAt  time.Time `json:"queued_at,omitzero"` // the beginning of its wait
	HeldBy    string    `json:"held_by,omitempty"`
	NotBefore time.Time `json:"not_before,omitzero"` // the end of its back-off after a failure
	// For a running job: when and by whom it was suspended, when it resumes by itself (absent: it
	// does not), and for how long its attempt was suspended earlier, which does not count against
	// the time limit.
	SuspendedAt    time.Time `json:"suspended_at,omitzero"`
	SuspendedBy    string    `json:"suspended_by,omitempty"`
	SuspendedUntil time.Time `json:"suspended_until,omitzero"`
	SuspendedTime  job.Span  `json:"suspended_seconds,omitempty"`

	Failures int `json:"failures,omitempty"` // attempts that failed
	Requeues int `json:"requeues,omitempty"` // how often an attempt that had begun ended with the job back in the queue, for any cause

	ExpectedStart     time.Time `json:"expected_start,omitzero"`      // of a waiting job, from predicted run times; absent: unknown
	ExpectedStartFrom time.Time `json:"expected_start_from,omitzero"` // with a chance of about four in five the job starts between this time and the next
	ExpectedStartBy   time.Time `json:"expected_start_by,omitzero"`   // absent: unknown
	StartUnknown      bool      `json:"start_unknown,omitempty"`      // nothing is known about the run times of jobs before it
	StartUnknownWhy   string    `json:"start_unknown_why,omitempty"`  // which of those jobs, and why

	ExpectedEnd time.Time `json:"expected_end,omitzero"`      // of a running job
	Expected    job.Span  `json:"expected_seconds,omitempty"` // the predicted run time

	GPUMemAuto       bool  `json:"gpu_mem_auto,omitempty"`        // gpu_mem_bytes was set from what earlier runs used
	GPUMemKnownBytes int64 `json:"gpu_mem_known_bytes,omitempty"` // the most that earlier runs of the command used on one GPU

	PromisedCPUs int           `json:"promised_cpus,omitempty"` // the CPUs that it counts for while it has an allocation
	PeakMemBytes int64         `json:"peak_mem_bytes,omitempty"`
	CPUSeconds   float64       `json:"cpu_seconds,omitempty"`
	Result       *Result       `json:"result,omitempty"`
	Warnings     []job.Warning `json:"warnings,omitempty"`
	Reasons      []Reason      `json:"reasons,omitempty"` // why it waits
	Why          string        `json:"why,omitempty"`     // the reasons in one short line
	Private      *Private      `json:"private,omitempty"`

	// Params has the values of a task's parameters by name. The command line fills it in for those
	// who may see them.
	Params map[string]string `json:"params,omitempty"`

	// MainPID and Command are the main process and the command of a running job. The command line
	// fills them in on request.
	MainPID int    `json:"main_pid,omitempty"`
	Command string `json:"-"`

	// Of a row that stands for several tasks of an array in the same state (ByState): the tasks'
	// numbers, such as "0-2,7", how many they are, and whether more may have ended earlier than the
	// listing reaches.
	Together string `json:"-"`
	Alike    int    `json:"-"`
	Older    bool   `json:"-"`

	InvocationID  string        `json:"invocation_id,omitempty"`
	StopRequested job.StopCause `json:"stop_requested,omitempty"` // "" for none
	StopFor       job.ID        `json:"stop_for,omitempty"`       // the job that a preempted job makes room for
}

// Array describes an array of tasks and its progress.
type Array struct {
	Spec   string `json:"spec"` // the tasks' numbers and the limit, "0-9%2"
	Size   int    `json:"size"`
	Limit  int    `json:"limit,omitempty"` // tasks that may run at once; 0: no limit
	Next   int    `json:"next"`            // the number of tasks that have become jobs
	Live   int    `json:"live"`            // of those, the number that have not ended
	Failed int    `json:"failed"`          // of those that ended, the number that did not complete

	Cancelled int `json:"cancelled,omitempty"` // tasks that were cancelled before they became jobs

	// The live tasks, divided into those that wait again after an attempt and all others, as lists
	// such as "0-2,7", shortened if long.
	Waiting      int    `json:"waiting,omitempty"`
	Held         int    `json:"held,omitempty"` // how many of the waiting ones are held
	WaitingTasks string `json:"waiting_tasks,omitempty"`
	RunningTasks string `json:"running_tasks,omitempty"`

	TooManyFailed bool `json:"too_many_failed,omitempty"` // no more tasks start until the array is released (max_failures)
}

// Task says which task of an array a job is.
type Task struct {
	job.Task
	Name string `json:"name"` // "7_3"
}

// Allocation is a job's part of a GPU, and what the job uses of it. Milli is 1000 for a whole GPU.
type Allocation struct {
	contract.GPU

	UsedBytes int64    `json:"used_bytes,omitempty"`   // memory of its processes at the last sample; -1: unknown; only while it runs
	PeakBytes int64    `json:"peak_bytes,omitempty"`   // the most in any sample
	Seen      job.Span `json:"seen_seconds,omitempty"` // for how long the GPU was sampled for it
	Busy      job.Span `json:"busy_seconds,omitempty"` // for how long of this the GPU computed, for this job or for others on it
	Idle      job.Span `json:"idle_seconds,omitempty"` // for how long up to now the job has not used it

	BusyPeakPercent *int     `json:"busy_peak_percent,omitempty"` // the highest utilization in a sample; absent: unknown
	MeanBytes       *int64   `json:"mean_bytes,omitempty"`        // memory of its processes, averaged over time; absent: unknown
	EnergyJoules    *float64 `json:"energy_joules,omitempty"`     // the job's part of the energy that the GPU used; absent: unknown
}

// Private is the part of a job that only its owner and administrators see.
type Private struct {
	Command string `json:"command"` // Argv for people: quoted for a shell, printable
	Program
	Screen string      `json:"screen,omitempty"` // the session of GNU screen of the latest attempt
	Params []job.Param `json:"params,omitempty"` // of an array, all values; of a task, its own

	LogPattern string `json:"log_pattern,omitempty"` // the path of the log as it was submitted, with its sequences
	SetupCut   bool   `json:"setup_cut,omitempty"`   // the job has ended, and its set-up was too long to keep

	NotifyTo []string `json:"notify_to,omitempty"` // the addresses and URLs of Request.Notify, in its order
}

// Result is how a job ended. Its cause is never cancel or time-limit: the outcome says those.
type Result = job.ShownResult

// Reason is one cause for a job to wait.
type Reason struct {
	job.Reason
	Detail   string      `json:"detail,omitempty"`
	Why      job.Message `json:"why,omitzero"` // Detail as code and arguments
	Sentence string      `json:"sentence"`
	Said     job.Message `json:"said,omitzero"` // the reason in another scheduler's words
}

// ListReply answers a listing: live jobs in queue order, then ended jobs, newest first.
type ListReply struct {
	Schema string `json:"schema"`
	Jobs   []Job  `json:"jobs"`
	GPUs   []GPU  `json:"gpus"`

	Omitted int `json:"omitted,omitempty"` // selected waiting jobs beyond ListQuery.Waiting

	Drain *Drain `json:"drain,omitempty"` // present while no job may start

	Recent *Recent `json:"recent,omitempty"` // if it was asked for

	Hosts []HostAnswer `json:"hosts,omitempty"` // if several machines were asked
}

// Recent counts the caller's jobs that ended lately. An array counts as its tasks.
type Recent struct {
	Since  time.Time `json:"since"`
	Ended  int       `json:"ended"`
	Failed int       `json:"failed,omitempty"` // the number that neither completed nor were cancelled
}

// Drain is an administrator's order that no job may start.
type Drain struct {
	By       string    `json:"by"`
	Reason   string    `json:"reason,omitempty"`
	At       time.Time `json:"at"`
	Until    time.Time `json:"until,omitzero"` // when it ends by itself; absent: never
	Sentence string    `json:"sentence"`
}

// JobReply answers a request about one job: show, why, cancel, wait.
type JobReply struct {
	Schema   string    `json:"schema"`
	Job      Job       `json:"job"`
	Attempts []Attempt `json:"attempts,omitempty"` // show only, oldest first
	Messages []Message `json:"messages,omitempty"` // show only, for those who may see the private part
	Results  *Results  `json:"results,omitempty"`  // of an array, if asked for
	Queue    *Queue    `json:"queue,omitempty"`    // of a waiting job, if asked for
	Printed  bool      `json:"printed,omitempty"`  // everything that the job had printed is in the journal; show only, if asked for
}

// Results says how the tasks of an array ended.
type Results struct {
	Tasks     []TaskGroup `json:"tasks"`
	Forgotten int         `json:"forgotten,omitempty"` // tasks that ended and are no longer on record
	Runs      *RunTimes   `json:"run_times,omitempty"` // absent: none has completed

	ForgottenTasks string `json:"forgotten_tasks,omitempty"`

	ExpectedEnd time.Time `json:"expected_end,omitzero"` // of the last task; the command line computes it
}

// TaskGroup is the set of tasks of an array that are in one state and, once they have ended, ended
// in one way.
type TaskGroup struct {
	State    job.State `json:"state"`
	Code     int       `json:"code,omitempty"`     // the exit status of 'gpusched wait'
	Signal   int       `json:"signal,omitempty"`   // the signal that they failed by
	Sentence string    `json:"sentence,omitempty"` // how the first of them ended, or what they wait for
	Started  bool      `json:"started,omitempty"`  // they have become jobs
	Count    int       `json:"count"`
	Tasks    string    `json:"tasks"` // their numbers, "0-2,7,10-20:5"
}

// RunTimes sums up the run times of completed tasks, in seconds.
type RunTimes struct {
	Of       int     `json:"of"` // the number of tasks
	Median   float64 `json:"median_seconds"`
	Shortest float64 `json:"shortest_seconds"`
	Longest  float64 `json:"longest_seconds"`
}

// Attempt is one attempt of a job, without what only the scheduler needs.
type Attempt struct {
	job.Attempt
	GPUs   []Allocation `json:"gpus,omitempty"`
	Result *Result      `json:"result,omitempty"`
}

// Message is a message that a job's owner asked for (Request.Notify).
type Message struct {
	Event    job.NotifyEvent `json:"event"` // start or end
	Which    int             `json:"which"` // the index in Request.Notify
	Way      job.NotifyWay   `json:"way"`
	At       time.Time       `json:"at"` // when the event happened
	Tries    int             `json:"tries,omitempty"`
	Next     time.Time       `json:"next,omitzero"`   // when sending is tried again
	Closed   time.Time       `json:"closed,omitzero"` // when it was sent or given up; absent: it is still to be sent
	Sent     bool            `json:"sent,omitempty"`
	Sentence string          `json:"sentence,omitempty"` // why the last try failed
}

// WebhookMessage is the document that is posted to a webhook. Chat programs show its text.
type WebhookMessage struct {
	Schema string          `json:"schema"`
	ID     string          `json:"id"`    // a message that is delivered twice has the same id
	Event  job.NotifyEvent `json:"event"` // start or end
	At     time.Time       `json:"at"`
	Host   string          `json:"host"`
	Text   string          `json:"text"` // the whole message in one line, without characters that chat programs take for markup
	Job    Job             `json:"job"`  // as everybody may see it
}

// CancelRequest ends a job. With a signal it only sends that.
type CancelRequest struct {
	Signal int  `json:"signal,omitempty"`
	Main   bool `json:"main,omitempty"` // send the signal to the main process alone

	// Grace is the time from SIGTERM to SIGKILL, at most the job's own grace, which is the default.
	// Not allowed with a signal.
	Grace *job.Span `json:"grace_seconds,omitempty"`

	// Unawaited cancels the job only if no other job depends on it; otherwise the request fails
	// with CodeConflict. Not allowed with a signal.
	Unawaited bool `json:"unawaited,omitempty"`
}

// ManyRequest applies a command to many jobs, in the given order.
type ManyRequest struct {
	Command job.CommandKind `json:"command"` // cancel, signal, hold, release, requeue, suspend, resume or update
	Jobs    []string        `json:"jobs"`    // "12", "7_3"
	Signal  int             `json:"signal,omitempty"`
	Main    bool            `json:"main,omitempty"`          // send the signal to the main process alone
	Change  *job.Change     `json:"change,omitempty"`        // for update
	Grace   *job.Span       `json:"grace_seconds,omitempty"` // for cancel
	Brief   bool            `json:"brief,omitempty"`         // answer with each job's name, owner, state and result alone
}

// ManyPart is one line of the answer to a ManyRequest: the outcomes of the next jobs. The last line
// has Done or Error. After an Error the command may have been applied to some of the remaining
// jobs, and will not be applied to any others.
type ManyPart struct {
	Schema  string       `json:"schema"`
	Jobs    []Job        `json:"jobs,omitempty"`
	Refused []RefusedJob `json:"refused,omitempty"`
	Done    bool         `json:"done,omitempty"`
	Error   *Error       `json:"error,omitempty"`
}

// RefusedJob is a job that the command was not applied to, and why.
type RefusedJob struct {
	Job   string `json:"job"`
	Error Error  `json:"error"`
}

// LogLevelRequest sets the level of the daemon's log until the daemon restarts: debug, info, warn
// or error; "" restores the configured level.
type LogLevelRequest struct {
	Level string `json:"level"`
}

// LogLevelReply is the current level of the daemon's log, and the configured one.
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
	Health    job.Health        `json:"health"`          // the worst of the daemon's checks
	Counts    map[job.State]int `json:"counts"`          // live jobs by state
	Drain     *Drain            `json:"drain,omitempty"` // present while no job may start
	Host      job.HostView      `json:"host"`
	GPUs      []GPU             `json:"gpus"`
	Running   []Job             `json:"running"`
	Waiting   []Job             `json:"waiting"` // the first few

	Totals  *job.Totals `json:"totals,omitempty"`
	Problem *job.Check  `json:"problem,omitempty"` // the first of the checks with the worst health

	Hosts []HostAnswer `json:"hosts,omitempty"` // if several machines were asked
}

// HealthReply lists the daemon's checks of its parts.
type HealthReply struct {
	Schema string      `json:"schema"`
	Health job.Health  `json:"health"` // the worst of the checks
	Checks []job.Check `json:"checks"`
}

// VersionReply has the versions of the running daemon.
type VersionReply struct {
	Schema  string `json:"schema"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}
