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
// placement reads nothing else. Zero values mean "not asked". Flags stand
// together to save room: a hundred thousand requests may wait.
type Request struct {
	GPUMilli    int      `json:"gpu_milli" name:"gpus" type:"gpus" short:"g" placeholder:"N" group:"needs" brief:"How many: 0, 0.5 of one, 1 (the default), 2, …" help:"How many GPUs: 0 (none), 0.01 to 0.99 of one, 1, 1.5, 2, … Whole ones are for this job alone, a fraction leaves the rest of its GPU to other fractions. Default: 1."`
	GPUMemBytes int64    `json:"gpu_mem_bytes,omitempty" name:"gpu-mem" type:"gpu-mem" placeholder:"SIZE" group:"needs" brief:"GPU memory that must be free on each, such as 20G" help:"Memory that must really be free on each GPU at the start, and is kept for the job, such as 20G; auto: what earlier runs of the command took, and some more. Default for a fraction: that part of the GPU's memory."`
	GPUIDs      []int    `json:"gpu_ids,omitempty" name:"gpu-ids" type:"gpu-list" placeholder:"LIST" group:"needs" help:"Exactly these GPUs, such as 0,2."`
	GPUsFrom    []int    `json:"gpus_from,omitempty" name:"gpus-from" type:"gpu-list" placeholder:"LIST" group:"needs" help:"Any of these GPUs, such as 0-3."`
	ExcludeGPUs []int    `json:"exclude_gpus,omitempty" name:"exclude-gpus" type:"gpu-list" placeholder:"LIST" group:"needs" help:"Any GPUs but these, such as 0,2."`
	GPUType     string   `json:"gpu_type,omitempty" name:"gpu-type" placeholder:"TYPE" group:"needs" help:"Only GPUs of this type, such as a100."`
	GPUVisible  string   `json:"gpu_visible,omitempty" name:"gpu-visible" placeholder:"HOW" enum:"index,uuid" default:"index" group:"needs" brief:"How CUDA_VISIBLE_DEVICES has them: index or uuid" help:"How CUDA_VISIBLE_DEVICES names the GPUs: index (0, 1, … of the job's own) or uuid."`
	MemBytes    int64    `json:"mem_bytes,omitempty" name:"mem" type:"size" short:"m" placeholder:"SIZE" group:"needs" brief:"Host memory, such as 32G; above it the job is killed" help:"Host memory, such as 32G. A job that goes over it is killed. Default: a share of the machine."`
	CPUs        int      `json:"cpus,omitempty" name:"cpus" type:"cpus" short:"c" placeholder:"N" group:"needs" brief:"CPUs that are promised to the job" help:"CPUs that are promised to the job, which gets the time of no more. Default: no limit. OMP_NUM_THREADS is left as it is: set it with -e."`
	TimeLimit   Span     `json:"time_limit_seconds,omitempty" name:"time" type:"span" short:"t" placeholder:"TIME" group:"needs" brief:"Time limit, such as 90m, 2h or 1-12 (days-hours)" help:"Time limit, such as 90m, 2h, 2:00:00 or 1-12 (days-hours); a number alone is seconds. Default: the site's."`
	Grace       Span     `json:"grace_seconds,omitempty" name:"grace" type:"span" placeholder:"TIME" group:"life" brief:"Time between SIGTERM and SIGKILL, such as 30s" help:"Time between SIGTERM and SIGKILL when the job is ended, such as 30s."`
	Priority    Priority `json:"priority" name:"priority" type:"priority" short:"p" placeholder:"P" group:"life" brief:"low, normal, … or a number; higher goes first" help:"A number (higher goes first) or scavenger, low, normal, high, interactive. Above normal may be for administrators only."`

	MaxLoadPercent int  `json:"max_load_percent,omitempty" name:"max-load" type:"percent" placeholder:"PCT" group:"needs" brief:"Only GPUs that are at most this busy, such as 30%" help:"Only GPUs that are at most this busy, such as 30% or 0.3. Default: the site's bound."`
	MaxUsedPercent int  `json:"max_used_percent,omitempty" name:"max-used" type:"percent" placeholder:"PCT" group:"needs" brief:"Only GPUs with at most this memory in use: 80%" help:"Only GPUs with at most this much of their memory in use, such as 80% or 0.8. Default: the site's bound."`
	Spread         bool `json:"spread,omitempty" name:"spread" group:"needs" brief:"Put a fraction on the emptiest GPU" help:"Put a fraction on the emptiest GPU rather than on the fullest that has room."`
	Preemptible    bool `json:"preemptible,omitempty" name:"preemptible" group:"life" brief:"May be stopped and queued again for another job" help:"The job may be stopped and queued again for one that goes first. Implied by the class scavenger."`
	Screen         bool `json:"screen,omitempty" kong:"-"` // in a session of GNU screen
	Hold           bool `json:"hold,omitempty" name:"hold" group:"queue" brief:"Keep it from starting until 'gpusched release'" help:"Queue the job and keep it from starting until 'gpusched release'."`
	Requeue        bool `json:"requeue" kong:"-"` // start again when a reboot took the job, or its GPU is at fault

	OnTimeout  TimeoutAction `json:"on_timeout,omitempty" name:"on-timeout" type:"timeout-action" placeholder:"WHAT" group:"life" brief:"At its time limit: kill or requeue" help:"At its time limit: kill the job, or requeue it at the end of the queue. Default: the site's choice."`
	WarnSignal int           `json:"warn_signal,omitempty" kong:"-"` // sent WarnBefore ahead of the limit, or of the stop for a job that goes first; 0: none
	WarnBefore Span          `json:"warn_before_seconds,omitempty" kong:"-"`
	WarnMain   bool          `json:"warn_main,omitempty" kong:"-"` // the warning is for the main process alone
	SignalTo   string        `json:"signal_to,omitempty" name:"signal-to" placeholder:"WHOM" enum:"all,main" default:"all" group:"life" brief:"Who gets SIGTERM and --signal: all or main" help:"Which processes get SIGTERM when the job is ended, and --signal: all (the default), or main, the job's own command alone. SIGKILL goes to all, after the grace or as soon as the main process has ended."`
	Retries    int           `json:"retries,omitempty" name:"retries" type:"retries" placeholder:"N" group:"life" brief:"Start it again up to N times when it fails" help:"Start the job again up to N times when it fails. Default: the site's, which is 0 unless it says otherwise."`
	Backoff    Span          `json:"backoff_seconds,omitempty" name:"backoff" type:"span" placeholder:"TIME" group:"life" brief:"Wait so long before the first retry, such as 5s" help:"Wait this long before the first retry, then twice as long each time, such as 5s."`

	Begin time.Time    `json:"begin,omitzero" name:"begin" type:"moment" placeholder:"WHEN" group:"queue" brief:"Not before this time, such as 22:00 or +2h" help:"Not before this time, such as 22:00, 'tomorrow 8:00', 2026-11-22T08:00 or +2h."`
	After []Dependency `json:"after,omitempty" kong:"-"`
	Array *Array       `json:"array,omitempty" kong:"-"` // many tasks in one entry of the queue

	MaxFailures int `json:"max_failures,omitempty" name:"max-failures" placeholder:"N" group:"queue" brief:"When so many tasks have failed, no other starts" help:"Of an array: when so many tasks have failed no other starts, until 'gpusched release'. Those that run go on."`

	Objective Objective `json:"objective,omitempty" name:"objective" type:"objective" placeholder:"GOAL" group:"queue" brief:"makespan: all of its batch are done soonest" help:"Of a file, an array or a batch: makespan, which lets the longest and widest job go first, so that all are done soonest."`
	Batch     string    `json:"batch,omitempty" name:"batch" placeholder:"NAME" group:"queue" brief:"The batch that it belongs to, for --objective" help:"The batch that the job belongs to, for --objective. Only your own jobs of this name and priority are of one batch."`

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
	Name    string            `json:"name" name:"name" short:"n" placeholder:"NAME" group:"label" brief:"Name for people; everybody can see it" help:"Name for people. Everybody can see it. Default: the name of the program or script."`
	Comment string            `json:"comment,omitempty" name:"comment" placeholder:"TEXT" group:"label" help:"A comment. Everybody can see it."`
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

	// What the site decides unless the submitter does: nil is the site's
	// default. The scheduler fills in Request.Grace and Request.Requeue.
	Grace   *Span
	Requeue *bool

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
