package job

import (
	"errors"
	"strconv"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// Owner is the account to which a job belongs. The kernel reported it for the connection that
// submitted the job.
type Owner struct {
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
	User string `json:"user"` // the name for people; the number in digits if the host knows no name

	// Groups are those groups of the owner that had a quota at submission, sorted by name. The
	// server fills them in, never the client.
	Groups []string `json:"groups,omitempty"`
}

// Is reports whether the account with this number and name is the owner. Numbers and names can be
// reassigned, so both must match. If one of the names is unknown, the number decides.
func (o *Owner) Is(uid int, name string) bool {
	return o.UID == uid && (o.User == name || Nameless(uid, name) || Nameless(uid, o.User))
}

// Nameless reports whether the name of an account is unknown. An unknown name is empty or the
// number in digits.
func Nameless(uid int, name string) bool { return name == "" || name == strconv.Itoa(uid) }

// belongsTo reports whether the owner is the account that a query names by number, by name or by
// both. nil and "" match any account.
func (o *Owner) belongsTo(uid *int, name string) bool {
	if uid == nil {
		return name == "" || o.User == name
	}
	return o.UID == *uid && (name == "" || o.Is(*uid, name))
}

// Request is what a job asks of the machine. All parts of gpusched, from the command line to the
// unit, use this description. The command line takes its options from the tags name, type, help and
// group. The API and the state file have it as JSON, and placement reads nothing else. A zero value
// means that the job asks for nothing. The scheduler replaces a nil Grace or Requeue with the
// site's default. The flags are grouped to save memory, since a hundred thousand requests may wait.
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
	MPS            bool  `json:"mps,omitempty" name:"mps" group:"needs"`
	MPSFair        bool  `json:"mps_fair,omitempty" name:"mps-fair" group:"needs"`
	Preemptible    bool  `json:"preemptible,omitempty" name:"preemptible" group:"life"`
	NoPark         bool  `json:"no_park,omitempty" kong:"-"` // the scheduler does not park it
	Screen         bool  `json:"screen,omitempty" kong:"-"`  // run in a session of GNU screen
	Hold           bool  `json:"hold,omitempty" name:"hold" group:"queue"`
	Requeue        *bool `json:"requeue" kong:"-"` // restart after a reboot or a fault of its GPU; nil: the site's default

	OnTimeout  TimeoutAction `json:"on_timeout,omitempty" name:"on-timeout" type:"timeout-action" placeholder:"WHAT" group:"life"`
	WarnSignal int           `json:"warn_signal,omitempty" kong:"-"` // sent ahead of the limit or preemption (WarnBefore)
	WarnBefore Span          `json:"warn_before_seconds,omitempty" kong:"-"`
	WarnMain   bool          `json:"warn_main,omitempty" kong:"-"` // send the warning only to the main process
	SignalTo   string        `json:"signal_to,omitempty" name:"signal-to" placeholder:"WHOM" enum:"all,main" default:"all" group:"life"`
	Retries    int           `json:"retries,omitempty" name:"retries" type:"retries" placeholder:"N" group:"life"`
	Backoff    Span          `json:"backoff_seconds,omitempty" name:"backoff" type:"span" placeholder:"TIME" group:"life"`

	Begin time.Time    `json:"begin,omitzero" name:"begin" type:"moment" placeholder:"WHEN" group:"queue"`
	After []Dependency `json:"after,omitempty" kong:"-"`
	Array *Array       `json:"array,omitempty" kong:"-"` // many tasks in one entry of the queue

	MaxFailures int `json:"max_failures,omitempty" name:"max-failures" placeholder:"N" group:"queue"`

	Objective Objective `json:"objective,omitempty" name:"objective" type:"objective" placeholder:"GOAL" group:"queue"`
	Batch     string    `json:"batch,omitempty" name:"batch" placeholder:"NAME" group:"queue"`
	Lane      Lane      `json:"lane,omitempty" name:"lane" type:"lane" placeholder:"NAME[=N]" group:"queue"`

	Dedup string `json:"dedup,omitempty" kong:"-"` // hash of the content; "": none

	Notify []Notify `json:"notify,omitempty" kong:"-"` // messages to send at its start and end, without addresses

	Derived `json:"derived,omitzero" kong:"-"`
}

// Derived is what the daemon adds to a request. The server ignores these fields in a client's
// request.
type Derived struct {
	DefaultedMem bool   `json:"defaulted_mem,omitempty"` // MemBytes is the site's default, not the submitter's choice
	ImpliedStop  bool   `json:"implied_stop,omitempty"`  // Preemptible follows from the class; nobody chose it
	Shape        string `json:"shape,omitempty"`         // hash of the command without its numbers, for predictions
	Script       string `json:"script,omitempty"`        // hash of the program or script, for predictions
	AutoMem      bool   `json:"auto_mem,omitempty"`      // GPUMemBytes comes from earlier runs, as AutoGPUMem requests
	MemMilli     int    `json:"mem_milli,omitempty"`     // for a part of a GPU: its memory as a share of the GPU's memory

	Mates Mates `json:"mates,omitempty"` // the jobs that may share its GPU

	ContainerEngine contract.Engine `json:"container_engine,omitempty"` // of the container in which the command runs; "": none
}

// AutoGPUMem, as a request's GPU memory, asks for as much as earlier runs of the command took. The
// daemon replaces AutoGPUMem with that amount, or with 0 if no run is known.
const AutoGPUMem = -1

// NoRetries, as a request's retries, asks for none, whatever the site's default is.
const NoRetries = -1

// SignalMain, as Request.SignalTo, makes SIGTERM and the warning go only to the main process.
const SignalMain = "main"

// GraceTime returns the time from SIGTERM to SIGKILL.
func (r *Request) GraceTime() Span {
	if r.Grace == nil {
		return 0
	}
	return *r.Grace
}

// MayRequeue reports whether the job starts again if a reboot ended it.
func (r *Request) MayRequeue() bool { return r.Requeue != nil && *r.Requeue }

// WarnsMain reports whether the warning goes only to the main process.
func (r *Request) WarnsMain() bool { return r.WarnMain || r.SignalTo == SignalMain }

// RelaysSignal reports whether the main process of the job's unit passes a signal on to the other
// processes. In that case the signal is sent only to the main process, because the signal would
// kill a process of Podman.
func (r *Request) RelaysSignal(n int) bool {
	switch syscall.Signal(n) {
	case syscall.SIGTERM, syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCONT:
		return false
	}
	return r.ContainerEngine == contract.Podman
}

// TimeoutAction says what happens to a job at its time limit.
type TimeoutAction string

// The actions. An empty action means kill.
const (
	TimeoutKill    TimeoutAction = "kill"
	TimeoutRequeue TimeoutAction = "requeue" // the job is stopped, and moved to the end of the queue
)

// Objective is a common goal of the jobs of an array or a batch. It applies in addition to the
// site's order.
type Objective string

// Makespan means that the last job should end as soon as possible: the longest and widest jobs go
// first.
const Makespan Objective = "makespan"

// Whole returns the number of whole GPUs that the job asks for.
func (r *Request) Whole() int { return r.GPUMilli / WholeGPU }

// Alone reports whether the job's GPUs must be free of processes without a job. That is the case if
// it asks for whole GPUs and does not say how much memory it needs while others use them.
func (r *Request) Alone() bool { return r.Whole() > 0 && r.GPUMemBytes == 0 && r.MaxUsedPercent == 0 }

// Part returns the share of one further GPU that the job asks for, in milli-GPUs.
func (r *Request) Part() int { return r.GPUMilli % WholeGPU }

// Devices returns the number of GPUs that the job runs on.
func (r *Request) Devices() int {
	if r.Part() > 0 {
		return r.Whole() + 1
	}
	return r.Whole()
}

// AsksFor returns what the request says about GPUs, in the form that a refusal shows.
func (r *Request) AsksFor() GPURequest {
	return GPURequest{
		GPUs: GPUs(r.GPUMilli), Type: r.GPUType, From: r.GPUsFrom,
		Other: r.ExcludeGPUs, Memory: Size(r.GPUMemBytes),
	}
}

// Label is the submitter's description of the job, for people.
type Label struct {
	Name    string            `json:"name" name:"name" short:"n" placeholder:"NAME" group:"label"`
	Comment string            `json:"comment,omitempty" name:"comment" placeholder:"TEXT" group:"label"`
	Tags    map[string]string `json:"tags,omitempty" kong:"-"`
}

// ErrNoPayload says that a job's private part can never be read again.
var ErrNoPayload = errors.New("the job's command can no longer be read from the state file")

// Payload is the private part of a job: only its owner and administrators may read it. It passes
// unchanged from the submitter to the store, and from there to the launcher. The scheduler never
// keeps it in memory.
type Payload struct {
	contract.Program
	Snapshot contract.Snapshot `json:"snapshot,omitzero"` // the launcher does not need it
	SetupCut bool              `json:"-"`                 // the job has ended, and its set-up was too long to keep

	Limits []contract.Limit `json:"limits,omitempty"` // the server sets them, as the kernel reports them

	// NotifyTo are the addresses and URLs for Request.Notify, in the same order; "": none.
	NotifyTo []string `json:"notify_to,omitempty"`
}

// Submission is a request to queue a job. The server adds the identity of the user behind the
// connection.
type Submission struct {
	Key     string // request key: a second submission with the same owner and key makes no second job
	Owner   Owner
	Admin   bool // the submitter may raise priorities
	Label   Label
	Request Request
	Payload Payload

	// Principal is the account whose limits apply to the job, if that is not its owner: the user to
	// whom the owner's subordinate uid belongs. The server fills it in.
	Principal *Account `json:"-"`

	// GIDs are all groups of the owner, ascending. The server fills them in.
	GIDs GIDs `json:"-"`

	// Brief leaves out the reasons for waiting and the expected start, because nobody reads them.
	Brief bool `json:"-"`

	// Ended has the ends of those jobs in Request.After that had ended before the submission
	// arrived.
	Ended map[ID]End
}

// End is how a job ended.
type End struct {
	State   State
	Started bool // its command ran in at least one attempt
}

// QuotaMilli returns what the request counts in quotas of GPUs. A request for a part of a GPU
// counts as a whole GPU if it chooses the GPU: the scheduler packs parts together, and while a part
// stays away from the others, no job that asks for whole GPUs can use its GPU. Any other part
// counts as its share of the GPU or of the GPU's memory, whichever is larger: a GPU without free
// memory is useless to others.
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
