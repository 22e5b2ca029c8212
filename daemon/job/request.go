package job

import (
	"errors"
	"time"
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

// Request is what a job asks of the machine. It is all that placement reads.
// Zero values mean "not asked". Flags stand together to save room: a hundred
// thousand requests may wait.
type Request struct {
	GPUMilli     int           `json:"gpu_milli"`           // 0: no GPU
	GPUIDs       []int         `json:"gpu_ids,omitempty"`   // exactly these physical indexes, sorted
	GPUsFrom     []int         `json:"gpus_from,omitempty"` // any of these physical indexes, sorted
	GPUType      string        `json:"gpu_type,omitempty"`
	GPUMemBytes  int64         `json:"gpu_mem_bytes,omitempty"` // per GPU, really free at the start
	MemBytes     int64         `json:"mem_bytes,omitempty"`     // host memory; the site's default is filled in at submit
	CPUs         int           `json:"cpus,omitempty"`          // CPU time limit in whole CPUs
	TimeLimit    time.Duration `json:"time_limit,omitempty"`
	Grace        time.Duration `json:"grace,omitempty"` // between SIGTERM and SIGKILL; the site's default is filled in at submit
	Priority     Priority      `json:"priority"`
	Requeue      bool          `json:"requeue,omitempty"`       // start again when a reboot took the job
	DefaultedMem bool          `json:"defaulted_mem,omitempty"` // MemBytes is the site's default, not the user's word
	GPUVisible   string        `json:"gpu_visible,omitempty"`   // "" or "uuid": how CUDA_VISIBLE_DEVICES names GPUs

	MaxLoadPercent int  `json:"max_load_percent,omitempty"` // a GPU busier than this does not qualify; 0: the site's bound
	MaxUsedPercent int  `json:"max_used_percent,omitempty"` // a GPU with more of its memory in use does not qualify; 0: the site's bound
	Spread         bool `json:"spread,omitempty"`           // the emptiest GPU rather than the fullest one that fits
	Preemptible    bool `json:"preemptible,omitempty"`      // may be stopped and queued again for a job that goes first
	ImpliedStop    bool `json:"implied_stop,omitempty"`     // Preemptible follows from the class, not from the user's word
	Hold           bool `json:"hold,omitempty"`             // queued, but not considered until released

	OnTimeout  TimeoutAction `json:"on_timeout,omitempty"`
	WarnSignal int           `json:"warn_signal,omitempty"` // sent WarnBefore ahead of the limit, or of the stop for a job that goes first; 0: none
	WarnBefore time.Duration `json:"warn_before,omitempty"`
	Retries    int           `json:"retries,omitempty"` // starts again so many times after a failure
	Backoff    time.Duration `json:"backoff,omitempty"` // before the first retry, doubled for each further one

	Begin  time.Time    `json:"begin,omitzero"` // not before
	After  []Dependency `json:"after,omitempty"`
	Array  *Array       `json:"array,omitempty"`  // many tasks in one entry of the queue
	Dedup  string       `json:"dedup,omitempty"`  // content hash; "" is none
	Shape  string       `json:"shape,omitempty"`  // hash of the command without its numbers, for predictions
	Script string       `json:"script,omitempty"` // hash of the program or script, for predictions
}

// TimeoutAction is what becomes of a job that meets its time limit.
type TimeoutAction string

// The actions. The empty one is kill.
const (
	TimeoutKill    TimeoutAction = "kill"
	TimeoutRequeue TimeoutAction = "requeue" // stopped, and to the end of the queue
)

// Whole returns how many whole GPUs are asked.
func (r *Request) Whole() int { return r.GPUMilli / WholeGPU }

// Alone tells whether the job is to have its whole GPUs free of processes of no
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
	Name    string            `json:"name"`
	Comment string            `json:"comment,omitempty"`
	Tags    map[string]string `json:"tags,omitempty"`
}

// EnvMode is how the environment of the submitter reaches the job.
type EnvMode string

// The modes of --env.
const (
	EnvInherit EnvMode = "inherit" // the submitter's environment as it was at submit
	EnvClean   EnvMode = "clean"   // HOME, USER, LOGNAME, SHELL, PATH, LANG only
	EnvLogin   EnvMode = "login"   // clean, then through the user's login shell
)

// ErrNoPayload says that a job's private part can never be read again.
var ErrNoPayload = errors.New("what the job runs can't be read from the state file any more")

// Payload is the private part of a job: only its owner and admins may read it.
// It travels from the submitter to the store and from there to the launcher,
// byte for byte, and is never kept in the scheduler's memory.
type Payload struct {
	Argv    []string `json:"argv"`
	EnvMode EnvMode  `json:"env_mode"`
	Env     []string `json:"env"` // K=V; the whole environment for inherit, additions otherwise
	Dir     string   `json:"dir"` // absolute
	Umask   int      `json:"umask"`
	Limits  []Limit  `json:"limits,omitempty"` // filled in by the server from the kernel, never from the client
}

// Limit is one resource limit of the submitter, by systemd's name without
// "Limit" (NOFILE, MEMLOCK, …). Unlimited is math.MaxUint64.
type Limit struct {
	Name string `json:"name"`
	Soft uint64 `json:"soft"`
	Hard uint64 `json:"hard"`
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
	Grace   *time.Duration
	Requeue *bool

	// Principal is whose limits the job counts for, where that is not its owner:
	// the user whose subordinate uid the owner is. The server fills it in.
	Principal *Account `json:"-"`

	// GIDs are all groups of the owner, ascending. The server fills them in.
	GIDs GIDs `json:"-"`

	// Ended says how jobs that Request.After names have ended, of those that
	// had when the submission came.
	Ended map[ID]End
}

// End is how a job ended.
type End struct {
	State   State
	Started bool // it ran at all
}
