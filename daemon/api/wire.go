package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// Schema names the version of every JSON document here.
const Schema = "gpusched.v1"

// SocketPath is where the daemon listens.
const SocketPath = "/run/gpusched/gpusched.sock"

// UserManager is the systemd of one user (systemctl --user).
const UserManager = "user"

// SubmitRequest asks to queue one job. Absent fields take the site's defaults.
type SubmitRequest struct {
	Key string `json:"key,omitempty"` // request key: a retried submit with the same key returns the same job
	job.Label
	job.Request
	Program

	DryRun bool `json:"dry_run,omitempty"`

	// Brief is that the job's number is all that is wanted: why it waits and when it is expected to start, which takes
	// a while to tell with a long queue, is left out. It travels as the preference that RFC 7240 has for that. A dry
	// run is told whole.
	Brief bool `json:"-"`
}

// PreferBrief is the header that asks for a brief answer, and its value.
const (
	PreferHeader = "Prefer"
	PreferBrief  = "return=minimal"
)

// SubmitReply answers a SubmitRequest. On a dry run the job has no id and Unit
// lists the properties its unit would get.
type SubmitReply struct {
	Schema string         `json:"schema"`
	Job    Job            `json:"job"`
	Known  bool           `json:"known,omitempty"` // the request key or the content was known: nothing new was queued
	Unit   []job.Property `json:"unit,omitempty"`
	// Sentence says where the job starts or why it waits, as a person is told; the command line fills it in.
	Sentence string `json:"sentence,omitempty"`
}

// Job is one job as everybody may see it, plus Private for those who may. Of
// the request, what reveals the command is left out.
type Job struct {
	ID   job.ID `json:"id,omitempty"`
	Host string `json:"host,omitempty"` // the machine that has it, where several were asked; the command line fills it in
	// Engine is what the number stands behind where it is not to be taken for that of a job of this machine.
	Engine string `json:"-"`
	Unit   string `json:"unit,omitempty"`
	// Manager is UserManager where the unit is one of the user's own systemd, and absent
	// where it is the machine's. NotEnforced is what such a job is not held to: devices
	// (it can open GPUs that it was not given), mem, cpus, tasks.
	Manager     string   `json:"manager,omitempty"`
	NotEnforced []string `json:"not_enforced,omitempty"`
	job.Label
	User        string       `json:"user"`
	UID         int          `json:"uid"`
	UIDNow      string       `json:"uid_now,omitempty"` // the account that has UID now, where that is not User
	State       job.State    `json:"state"`
	SubmittedAt time.Time    `json:"submitted_at"`
	PlacedAt    time.Time    `json:"placed_at,omitzero"`
	StartedAt   time.Time    `json:"started_at,omitzero"`
	EndedAt     time.Time    `json:"ended_at,omitzero"`
	Attempt     int          `json:"attempt,omitempty"`
	GPUs        []Allocation `json:"gpus,omitempty"` // of one that waits again: none

	job.Request
	MemDefaulted bool             `json:"mem_defaulted,omitempty"`
	After        []job.Dependency `json:"after,omitempty"` // those not met yet
	Array        *Array           `json:"array,omitempty"` // set for an array
	Task         *Task            `json:"task,omitempty"`  // set for a task of an array; one that has not started has no id

	QueuedAt  time.Time `json:"queued_at,omitzero"` // from when its wait counts
	HeldBy    string    `json:"held_by,omitempty"`
	NotBefore time.Time `json:"not_before,omitzero"` // the end of its back-off after a failure
	// Of one that runs: since when and by whom it is suspended, when it goes on by itself
	// (absent: it does not), and for how long its attempt was suspended before, which does
	// not count against the limit.
	SuspendedAt    time.Time `json:"suspended_at,omitzero"`
	SuspendedBy    string    `json:"suspended_by,omitempty"`
	SuspendedUntil time.Time `json:"suspended_until,omitzero"`
	Rested         job.Span  `json:"suspended_seconds,omitempty"`

	Failures int `json:"failures,omitempty"` // attempts that failed
	Requeues int `json:"requeues,omitempty"` // returns to the queue, for any cause, of attempts that began

	ExpectedStart     time.Time `json:"expected_start,omitzero"`      // of a waiting job, by predictions; absent: unknown
	ExpectedStartFrom time.Time `json:"expected_start_from,omitzero"` // it starts from then to the next with a chance of about four in five
	ExpectedStartBy   time.Time `json:"expected_start_by,omitzero"`   // absent: nobody can say
	StartUnknown      bool      `json:"start_unknown,omitempty"`      // nothing is known of how long jobs before it run
	StartUnknownWhy   string    `json:"start_unknown_why,omitempty"`  // which of these, and why

	ExpectedEnd time.Time `json:"expected_end,omitzero"`      // of a running job
	Expected    job.Span  `json:"expected_seconds,omitempty"` // the predicted run time

	GPUMemAuto       bool  `json:"gpu_mem_auto,omitempty"`        // gpu_mem_bytes is from what earlier runs took
	GPUMemKnownBytes int64 `json:"gpu_mem_known_bytes,omitempty"` // the most, of one GPU, that earlier runs of the command took

	PromisedCPUs int           `json:"promised_cpus,omitempty"` // for which it counts while it holds what it asked for
	PeakMemBytes int64         `json:"peak_mem_bytes,omitempty"`
	CPUSeconds   float64       `json:"cpu_seconds,omitempty"`
	Result       *Result       `json:"result,omitempty"`
	Warnings     []job.Warning `json:"warnings,omitempty"`
	Reasons      []Reason      `json:"reasons,omitempty"` // why it waits
	Why          string        `json:"why,omitempty"`     // the reasons in one short line
	Private      *Private      `json:"private,omitempty"`

	// Of a task, the values of its parameters by name. The command line fills them in for
	// who may see them.
	Params map[string]string `json:"params,omitempty"`

	// The main process of one that runs, and the command. The command line fills them in where they are asked for.
	MainPID int    `json:"main_pid,omitempty"`
	Command string `json:"-"`

	// Of a row that people are shown for tasks of an array that are in the same state (ByState): which they are, such as
	// "0-2,7", how many, and whether there may be more that ended before all that was asked for.
	Together string `json:"-"`
	Alike    int    `json:"-"`
	Older    bool   `json:"-"`

	InvocationID  string        `json:"invocation_id,omitempty"`
	StopRequested job.StopCause `json:"stop_requested,omitempty"` // "": none is
	StopFor       job.ID        `json:"stop_for,omitempty"`       // the job that a preempted one makes room for
}

// Array is an array of tasks and how far it is.
type Array struct {
	Spec   string `json:"spec"` // the tasks' numbers and the limit, "0-9%2"
	Size   int    `json:"size"`
	Limit  int    `json:"limit,omitempty"` // tasks running at once; 0: no limit
	Next   int    `json:"next"`            // how many tasks have become jobs
	Live   int    `json:"live"`            // of those, how many have not ended
	Failed int    `json:"failed"`          // of those that ended, how many did not complete

	Cancelled int `json:"cancelled,omitempty"` // tasks that were cancelled before they became jobs

	// Of the live ones those that wait in the queue again, after an attempt, and the others, as a list such as
	// "0-2,7"; shortened where it is long.
	Waiting      int    `json:"waiting,omitempty"`
	Held         int    `json:"held,omitempty"` // how many of those that wait again are held
	WaitingTasks string `json:"waiting_tasks,omitempty"`
	RunningTasks string `json:"running_tasks,omitempty"`

	TooManyFailed bool `json:"too_many_failed,omitempty"` // no more start until it is released (max_failures)
}

// Task says which part of an array a job is.
type Task struct {
	job.Task
	Name string `json:"name"` // "7_3"
}

// Allocation is a job's part of a GPU, with what the job uses of it. Its Milli is
// 1000 where that is all of it.
type Allocation struct {
	contract.GPU

	UsedBytes int64    `json:"used_bytes,omitempty"`   // of its processes, by the last sample; -1: unknown; only while it runs
	PeakBytes int64    `json:"peak_bytes,omitempty"`   // the most that a sample saw
	Seen      job.Span `json:"seen_seconds,omitempty"` // how long the GPU was watched for it
	Busy      job.Span `json:"busy_seconds,omitempty"` // of these, how long the GPU computed, for it or for others on it
	Idle      job.Span `json:"idle_seconds,omitempty"` // for how long up to now the job has not used it

	BusyPeakPercent *int     `json:"busy_peak_percent,omitempty"` // the most that it computed in a sample; absent: unknown
	MeanBytes       *int64   `json:"mean_bytes,omitempty"`        // of its processes, over time; absent: unknown
	EnergyJoules    *float64 `json:"energy_joules,omitempty"`     // the job's part of what the GPU took; absent: unknown
}

// Private is what only the owner and admins see.
type Private struct {
	Command string `json:"command"` // Argv for people: quoted for a shell, printable
	Program
	Screen string      `json:"screen,omitempty"` // the session of GNU screen of the latest attempt
	Params []job.Param `json:"params,omitempty"` // of an array, all values; of a task, its own value each

	LogPattern string `json:"log_pattern,omitempty"` // the path of the log with its sequences, as it was submitted
	SetupCut   bool   `json:"setup_cut,omitempty"`   // it has ended, and its set-up was too long to be kept

	NotifyTo []string `json:"notify_to,omitempty"` // the addresses and URLs of Request.Notify, in its order
}

// Result is how a job ended. It has no cause cancel or time-limit, which the outcome says.
type Result = job.ShownResult

// Reason is one cause of waiting.
type Reason struct {
	job.Reason
	Detail   string      `json:"detail,omitempty"`
	Why      job.Message `json:"why,omitzero"` // Detail before it is in words
	Sentence string      `json:"sentence"`
	Said     job.Message `json:"said,omitzero"` // in another scheduler's words
}

// ListReply answers a listing: live jobs in queue order, then ended ones,
// newest first.
type ListReply struct {
	Schema string `json:"schema"`
	Jobs   []Job  `json:"jobs"`
	GPUs   []GPU  `json:"gpus"`

	Omitted int `json:"omitted,omitempty"` // waiting jobs that match beyond those that were asked for

	Drain *Drain `json:"drain,omitempty"` // no job starts; absent: they do

	Recent *Recent `json:"recent,omitempty"` // where it was asked for

	Hosts []HostAnswer `json:"hosts,omitempty"` // where several machines were asked
}

// Recent is how many jobs of who asks have ended lately. An array is counted as its tasks.
type Recent struct {
	Since  time.Time `json:"since"`
	Ended  int       `json:"ended"`
	Failed int       `json:"failed,omitempty"` // of these, how many neither completed nor were cancelled
}

// Drain is an administrator's order by which no job starts.
type Drain struct {
	By       string    `json:"by"`
	Reason   string    `json:"reason,omitempty"`
	At       time.Time `json:"at"`
	Until    time.Time `json:"until,omitzero"` // when it ends by itself; absent: never
	Sentence string    `json:"sentence"`
}

// JobReply answers for one job: show, why, cancel, wait.
type JobReply struct {
	Schema   string    `json:"schema"`
	Job      Job       `json:"job"`
	Attempts []Attempt `json:"attempts,omitempty"` // show only, oldest first
	Messages []Message `json:"messages,omitempty"` // show only, for those who see the private part
	Results  *Results  `json:"results,omitempty"`  // of an array, where they were asked for
	Queue    *Queue    `json:"queue,omitempty"`    // of a waiting job, where it was asked for
	Printed  bool      `json:"printed,omitempty"`  // all that it had printed is in the journal; show only, where it was asked
}

// Results are what became of the tasks of an array.
type Results struct {
	Tasks     []TaskGroup `json:"tasks"`
	Forgotten int         `json:"forgotten,omitempty"` // ended ones that are not on record any more
	Runs      *RunTimes   `json:"run_times,omitempty"` // absent: none has completed

	ForgottenTasks string `json:"forgotten_tasks,omitempty"`

	ExpectedEnd time.Time `json:"expected_end,omitzero"` // of the last task; the command line works it out
}

// TaskGroup are tasks of an array that are in one state and, where they have ended, ended in
// one way.
type TaskGroup struct {
	State    job.State `json:"state"`
	Code     int       `json:"code,omitempty"`     // the exit status that 'gpusched wait' gives
	Signal   int       `json:"signal,omitempty"`   // that ended them, where they failed by one
	Sentence string    `json:"sentence,omitempty"` // how the first of them ended, or what they wait for
	Started  bool      `json:"started,omitempty"`  // they have become jobs
	Count    int       `json:"count"`
	Tasks    string    `json:"tasks"` // their numbers, "0-2,7,10-20:5"
}

// RunTimes say how long tasks ran that completed, in seconds.
type RunTimes struct {
	Of       int     `json:"of"` // how many
	Median   float64 `json:"median_seconds"`
	Shortest float64 `json:"shortest_seconds"`
	Longest  float64 `json:"longest_seconds"`
}

// Attempt is one start of a job, without what only the scheduler needs of it.
type Attempt struct {
	job.Attempt
	GPUs   []Allocation `json:"gpus,omitempty"`
	Result *Result      `json:"result,omitempty"`
}

// Message is one that a job's owner asked for (Request.Notify).
type Message struct {
	Event    job.NotifyEvent `json:"event"` // start or end
	Which    int             `json:"which"` // of Request.Notify
	Way      job.NotifyWay   `json:"way"`
	At       time.Time       `json:"at"` // when there was something to tell
	Tries    int             `json:"tries,omitempty"`
	Next     time.Time       `json:"next,omitzero"`   // when it is tried again
	Closed   time.Time       `json:"closed,omitzero"` // when it was sent or given up; absent: it is owed
	Sent     bool            `json:"sent,omitempty"`
	Sentence string          `json:"sentence,omitempty"` // why the last try failed
}

// WebhookMessage is what is posted to a webhook. Chat programs show the text.
type WebhookMessage struct {
	Schema string          `json:"schema"`
	ID     string          `json:"id"`    // one that comes twice has the same
	Event  job.NotifyEvent `json:"event"` // start or end
	At     time.Time       `json:"at"`
	Host   string          `json:"host"`
	Text   string          `json:"text"` // all of it in a line, without what chat programs take for markup
	Job    Job             `json:"job"`  // as everybody may see it
}

// CancelRequest ends a job, or with a signal only sends it.
type CancelRequest struct {
	Signal int  `json:"signal,omitempty"`
	Main   bool `json:"main,omitempty"` // the signal is for the main process alone

	// Grace is from SIGTERM to SIGKILL, at most the job's own; absent: that. Not with a signal.
	Grace *job.Span `json:"grace_seconds,omitempty"`

	// Unawaited: only if no job waits for it, else api.CodeConflict and nothing is done. Not with a signal.
	Unawaited bool `json:"unawaited,omitempty"`
}

// ManyRequest does something to many jobs, in this order.
type ManyRequest struct {
	Command job.CommandKind `json:"command"` // cancel, signal, hold, release, requeue, suspend, resume or update
	Jobs    []string        `json:"jobs"`    // "12", "7_3"
	Signal  int             `json:"signal,omitempty"`
	Main    bool            `json:"main,omitempty"`          // the signal is for the main process alone
	Change  *job.Change     `json:"change,omitempty"`        // of an update
	Grace   *job.Span       `json:"grace_seconds,omitempty"` // of a cancel
	Brief   bool            `json:"brief,omitempty"`         // of each job only its name, owner, state and result
}

// ManyPart is a line of the answer: what became of the next jobs. The last line is done, or has an
// error: of the jobs after those that were told some may be done, and nothing more is.
type ManyPart struct {
	Schema  string       `json:"schema"`
	Jobs    []Job        `json:"jobs,omitempty"`
	Refused []RefusedJob `json:"refused,omitempty"`
	Done    bool         `json:"done,omitempty"`
	Error   *Error       `json:"error,omitempty"`
}

// RefusedJob is a job that it could not be done to, and why.
type RefusedJob struct {
	Job   string `json:"job"`
	Error Error  `json:"error"`
}

// LogLevelRequest sets the level of the daemon's log until it restarts: debug, info, warn or
// error; "" is what the settings say.
type LogLevelRequest struct {
	Level string `json:"level"`
}

// LogLevelReply is the level of the daemon's log, and what its settings say.
type LogLevelReply struct {
	Schema   string `json:"schema"`
	Level    string `json:"level"`
	Settings string `json:"settings"`
}

// StatusReply is the daemon at a glance.
type StatusReply struct {
	Schema    string            `json:"schema"`
	Version   string            `json:"version"`
	StartedAt time.Time         `json:"started_at"`
	Health    job.Health        `json:"health"`          // HEALTHY, DEGRADED, FAILING
	Counts    map[job.State]int `json:"counts"`          // jobs by state, live ones
	Drain     *Drain            `json:"drain,omitempty"` // no job starts; absent: they do
	Host      job.HostView      `json:"host"`
	GPUs      []GPU             `json:"gpus"`
	Running   []Job             `json:"running"`
	Waiting   []Job             `json:"waiting"` // the first few

	Totals  *job.Totals `json:"totals,omitempty"`
	Problem *job.Check  `json:"problem,omitempty"` // the first of the worst that health has to tell

	Hosts []HostAnswer `json:"hosts,omitempty"` // where several machines were asked
}

// HealthReply lists what was checked.
type HealthReply struct {
	Schema string      `json:"schema"`
	Health job.Health  `json:"health"` // the worst of the checks
	Checks []job.Check `json:"checks"`
}

// VersionReply names the running daemon.
type VersionReply struct {
	Schema  string `json:"schema"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}
