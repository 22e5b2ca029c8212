package job

import (
	"errors"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// Owner is the account a job belongs to, as the kernel reported it for the
// connection that submitted the job.
type Owner struct {
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
	User string `json:"user"` // the name for people; the number in digits where the host has no name

	// Groups are the names of those groups with a quota that the owner was in
	// at submit, sorted. The server fills them in, never the client.
	Groups []string `json:"groups,omitempty"`
}

// Is reports whether the account of a number and a name is the owner. A number can be given
// to another account, a name to another number; where one of the two names is not known the
// number decides.
func (o *Owner) Is(uid int, name string) bool {
	return o.UID == uid && (o.User == name || Nameless(uid, name) || Nameless(uid, o.User))
}

// Nameless reports whether the name of an account is not known: it is empty, or the number.
func Nameless(uid int, name string) bool { return name == "" || name == strconv.Itoa(uid) }

// belongsTo reports whether a query for jobs of a number, of a name or of both means the
// owner's; nil and "" are any.
func (o *Owner) belongsTo(uid *int, name string) bool {
	if uid == nil {
		return name == "" || o.User == name
	}
	return o.UID == *uid && (name == "" || o.Is(*uid, name))
}

// Request is what a job asks of the machine: the one description of it from the
// command line to the unit. The command line reads its options by the tags name,
// type, help and group, the wire and the state file have it as JSON, and
// placement reads nothing else. Zero values mean "not asked": the scheduler puts
// the site's Grace and Requeue in the place of nil. Flags stand together to save
// room: a hundred thousand requests may wait.
type Request struct {
	GPUMilli    int      `json:"gpu_milli" name:"gpus" type:"gpus" short:"g" placeholder:"N" group:"needs"`
	GPUMemBytes int64    `json:"gpu_mem_bytes,omitempty" name:"gpu-mem" type:"gpu-mem" placeholder:"SIZE" group:"needs"`
	GPUIDs      []int    `json:"gpu_ids,omitempty" name:"gpu-ids" type:"gpu-list" placeholder:"LIST" group:"needs"`
	GPUsFrom    []int    `json:"gpus_from,omitempty" name:"gpus-from" type:"gpu-list" placeholder:"LIST" group:"needs"`
	ExcludeGPUs []int    `json:"exclude_gpus,omitempty" name:"exclude-gpus" type:"gpu-list" placeholder:"LIST" group:"needs"`
	GPUType     string   `json:"gpu_type,omitempty" name:"gpu-type" placeholder:"TYPE" group:"needs"`
	GPUVisible  string   `json:"gpu_visible,omitempty" name:"gpu-visible" placeholder:"HOW" enum:"index,uuid" default:"index" group:"needs"`
	MemBytes    int64    `json:"mem_bytes,omitempty" name:"mem" type:"size" short:"m" placeholder:"SIZE" group:"needs"`
	CPUs        int      `json:"cpus,omitempty" name:"cpus" type:"cpus" short:"c" placeholder:"N" group:"needs"`
	TimeLimit   Span     `json:"time_limit_seconds,omitempty" name:"time" type:"span" short:"t" placeholder:"TIME" group:"needs"`
	Grace       *Span    `json:"grace_seconds,omitempty" name:"grace" type:"span" placeholder:"TIME" group:"life"`
	Priority    Priority `json:"priority" name:"priority" type:"priority" short:"p" placeholder:"P" group:"life"`

	MaxLoadPercent int   `json:"max_load_percent,omitempty" name:"max-load" type:"percent" placeholder:"PCT" group:"needs"`
	MaxUsedPercent int   `json:"max_used_percent,omitempty" name:"max-used" type:"percent" placeholder:"PCT" group:"needs"`
	Spread         bool  `json:"spread,omitempty" name:"spread" group:"needs"`
	Preemptible    bool  `json:"preemptible,omitempty" name:"preemptible" group:"life"`
	Screen         bool  `json:"screen,omitempty" kong:"-"` // in a session of GNU screen
	Hold           bool  `json:"hold,omitempty" name:"hold" group:"queue"`
	Requeue        *bool `json:"requeue" kong:"-"` // start again when a reboot took the job, or its GPU is at fault; nil as Grace

	OnTimeout  TimeoutAction `json:"on_timeout,omitempty" name:"on-timeout" type:"timeout-action" placeholder:"WHAT" group:"life"`
	WarnSignal int           `json:"warn_signal,omitempty" kong:"-"` // sent WarnBefore ahead of the limit, or of the stop for a job that goes first; 0: none
	WarnBefore Span          `json:"warn_before_seconds,omitempty" kong:"-"`
	WarnMain   bool          `json:"warn_main,omitempty" kong:"-"` // the warning is for the main process alone
	SignalTo   string        `json:"signal_to,omitempty" name:"signal-to" placeholder:"WHOM" enum:"all,main" default:"all" group:"life"`
	Retries    int           `json:"retries,omitempty" name:"retries" type:"retries" placeholder:"N" group:"life"`
	Backoff    Span          `json:"backoff_seconds,omitempty" name:"backoff" type:"span" placeholder:"TIME" group:"life"`

	Begin time.Time    `json:"begin,omitzero" name:"begin" type:"moment" placeholder:"WHEN" group:"queue"`
	After []Dependency `json:"after,omitempty" kong:"-"`
	Array *Array       `json:"array,omitempty" kong:"-"` // many tasks in one entry of the queue

	MaxFailures int `json:"max_failures,omitempty" name:"max-failures" placeholder:"N" group:"queue"`

	Objective Objective `json:"objective,omitempty" name:"objective" type:"objective" placeholder:"GOAL" group:"queue"`
	Batch     string    `json:"batch,omitempty" name:"batch" placeholder:"NAME" group:"queue"`

	Dedup string `json:"dedup,omitempty" kong:"-"` // content hash; "" is none

	Notify []Notify `json:"notify,omitempty" kong:"-"` // who gets messages at its start and end, without addresses

	Derived `json:"derived,omitzero" kong:"-"`
}

// Derived is what the daemon adds to a request; what a client says of it is
// ignored.
type Derived struct {
	DefaultedMem bool   `json:"defaulted_mem,omitempty"` // MemBytes is the site's default, not the submitter's choice
	ImpliedStop  bool   `json:"implied_stop,omitempty"`  // Preemptible follows from the class, not from the submitter's choice
	Shape        string `json:"shape,omitempty"`         // hash of the command without its numbers, for predictions
	Script       string `json:"script,omitempty"`        // hash of the program or script, for predictions
	AutoMem      bool   `json:"auto_mem,omitempty"`      // GPUMemBytes is from earlier runs, as AutoGPUMem asks
	MemMilli     int    `json:"mem_milli,omitempty"`     // the part of a GPU that GPUMemBytes is, of a request for a part
}

// AutoGPUMem, as the GPU memory of a request, leaves it to what earlier runs of the command
// took. The daemon puts the amount in its place, 0 where it knows of no run.
const AutoGPUMem = -1

// NoRetries, as the retries of a request, asks for none, whatever the site's default is.
const NoRetries = -1

// SignalMain, as Request.SignalTo, has SIGTERM and the warning sent to the main process alone.
const SignalMain = "main"

// GraceTime is the time from SIGTERM to SIGKILL.
func (r *Request) GraceTime() Span {
	if r.Grace == nil {
		return 0
	}
	return *r.Grace
}

// MayRequeue reports whether the job starts again when a reboot took it.
func (r *Request) MayRequeue() bool { return r.Requeue != nil && *r.Requeue }

// WarnsMain reports whether the warning is for the main process alone.
func (r *Request) WarnsMain() bool { return r.WarnMain || r.SignalTo == SignalMain }

// TimeoutAction is what becomes of a job that meets its time limit.
type TimeoutAction string

// The actions. The empty one is kill.
const (
	TimeoutKill    TimeoutAction = "kill"
	TimeoutRequeue TimeoutAction = "requeue" // stopped, and to the end of the queue
)

// Objective is what the jobs of an array or a batch are to reach together, beside
// what the site's order gives each.
type Objective string

// Makespan is that the last of them ends soon: the longest and widest goes first.
const Makespan Objective = "makespan"

// Whole returns how many whole GPUs are asked.
func (r *Request) Whole() int { return r.GPUMilli / WholeGPU }

// Alone reports whether the job is to have its whole GPUs free of processes of no
// job: it asks some and does not say how much memory it needs beside others.
func (r *Request) Alone() bool { return r.Whole() > 0 && r.GPUMemBytes == 0 && r.MaxUsedPercent == 0 }

// Part returns the share of one further GPU that is asked, in milli-GPUs.
func (r *Request) Part() int { return r.GPUMilli % WholeGPU }

// Devices returns on how many GPUs the job runs.
func (r *Request) Devices() int {
	if r.Part() > 0 {
		return r.Whole() + 1
	}
	return r.Whole()
}

// Label is what the submitter says about the job for people to read.
type Label struct {
	Name    string            `json:"name" name:"name" short:"n" placeholder:"NAME" group:"label"`
	Comment string            `json:"comment,omitempty" name:"comment" placeholder:"TEXT" group:"label"`
	Tags    map[string]string `json:"tags,omitempty" kong:"-"`
}

// ErrNoPayload says that a job's private part can never be read again.
var ErrNoPayload = errors.New("what the job runs can't be read from the state file any more")

// Payload is the private part of a job: only its owner and admins may read it.
// It travels from the submitter to the store and from there to the launcher,
// byte for byte, and is never kept in the scheduler's memory.
type Payload struct {
	contract.Program
	SetupCut bool `json:"-"` // the job has ended, and its set-up was too long to be kept

	Limits []contract.Limit `json:"limits,omitempty"` // filled in by the server from the kernel, never from the client

	// NotifyTo are the addresses and URLs of Request.Notify, in its order; "" is none.
	NotifyTo []string `json:"notify_to,omitempty"`
}

// Submission is a request to queue a job, after the server has put in the
// identity of the connection.
type Submission struct {
	Key     string // request key: the same owner and key is the same job
	Owner   Owner
	Admin   bool // the submitter may raise priorities
	Label   Label
	Request Request
	Payload Payload

	// Principal is whose limits the job counts for, where that is not its owner:
	// the user whose subordinate uid the owner is. The server fills it in.
	Principal *Account `json:"-"`

	// GIDs are all groups of the owner, ascending. The server fills them in.
	GIDs GIDs `json:"-"`

	// Brief: nobody reads why the job waits, or when it is expected to start.
	Brief bool `json:"-"`

	// Ended says how jobs that Request.After names have ended, of those that
	// had when the submission came.
	Ended map[ID]End
}

// End is how a job ended.
type End struct {
	State   State
	Started bool // it ran at all
}

// QuotaMilli is what the request counts for in quotas of GPUs. A part that chooses its
// GPU counts as a whole one: the scheduler puts parts together, and one that stays away
// from the others keeps all of its GPU from whole ones. Any other counts for its part of
// the GPU or of the GPU's memory, whichever is larger: what has no memory left is of no
// use to others.
func (r *Request) QuotaMilli() int {
	part := r.Part()
	chooses := r.Spread || len(r.GPUIDs)+len(r.GPUsFrom)+len(r.ExcludeGPUs) > 0 || r.MaxLoadPercent+r.MaxUsedPercent > 0
	switch {
	case part == 0:
		return r.GPUMilli
	case chooses:
		return r.Devices() * WholeGPU
	}
	return r.GPUMilli - part + max(part, min(r.MemMilli, WholeGPU))
}
