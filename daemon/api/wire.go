package api

import "time"

// Schema names the version of every JSON document here.
const Schema = "gpusched.v1"

// SocketPath is where the daemon listens.
const SocketPath = "/run/gpusched/gpusched.sock"

// SubmitRequest asks to queue one job. Absent fields take the site's defaults.
type SubmitRequest struct {
	Key     string            `json:"key,omitempty"` // request key: a retried submit with the same key returns the same job
	Name    string            `json:"name"`
	Comment string            `json:"comment,omitempty"`
	Tags    map[string]string `json:"tags,omitempty"`

	GPUMilli         int    `json:"gpu_milli"`
	GPUIDs           []int  `json:"gpu_ids,omitempty"`
	GPUsFrom         []int  `json:"gpus_from,omitempty"`
	GPUType          string `json:"gpu_type,omitempty"`
	GPUMemBytes      int64  `json:"gpu_mem_bytes,omitempty"`
	GPUVisible       string `json:"gpu_visible,omitempty"`
	MemBytes         int64  `json:"mem_bytes,omitempty"`
	CPUs             int    `json:"cpus,omitempty"`
	TimeLimitSeconds int64  `json:"time_limit_seconds,omitempty"`
	GraceSeconds     *int64 `json:"grace_seconds,omitempty"`
	Priority         string `json:"priority,omitempty"`
	Requeue          *bool  `json:"requeue,omitempty"`

	Argv    [][]byte `json:"argv"` // base64 in JSON: arguments are bytes, not text
	EnvMode string   `json:"env_mode"`
	Env     [][]byte `json:"env,omitempty"`
	Dir     []byte   `json:"dir"`
	Umask   int      `json:"umask"`

	DryRun bool `json:"dry_run,omitempty"`
}

// SubmitReply answers a SubmitRequest. On a dry run the job has no id and Unit
// lists the properties its unit would get.
type SubmitReply struct {
	Schema string     `json:"schema"`
	Job    Job        `json:"job"`
	Known  bool       `json:"known,omitempty"` // the request key was known: nothing new was queued
	Unit   []Property `json:"unit,omitempty"`
}

// Property is one systemd unit property, rendered for reading.
type Property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Job is one job as everybody may see it, plus Private for those who may.
type Job struct {
	ID          int64             `json:"id,omitempty"`
	Unit        string            `json:"unit,omitempty"`
	Name        string            `json:"name"`
	User        string            `json:"user"`
	UID         int               `json:"uid"`
	Comment     string            `json:"comment,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
	State       string            `json:"state"`
	Priority    string            `json:"priority"`
	SubmittedAt time.Time         `json:"submitted_at"`
	PlacedAt    time.Time         `json:"placed_at,omitzero"`
	StartedAt   time.Time         `json:"started_at,omitzero"`
	EndedAt     time.Time         `json:"ended_at,omitzero"`
	Attempt     int               `json:"attempt,omitempty"`
	GPUs        []GPURef          `json:"gpus,omitempty"`

	GPUMilli         int    `json:"gpu_milli"`
	GPUIDs           []int  `json:"gpu_ids,omitempty"`
	GPUsFrom         []int  `json:"gpus_from,omitempty"`
	GPUType          string `json:"gpu_type,omitempty"`
	GPUMemBytes      int64  `json:"gpu_mem_bytes,omitempty"`
	MemBytes         int64  `json:"mem_bytes,omitempty"`
	MemDefaulted     bool   `json:"mem_defaulted,omitempty"`
	CPUs             int    `json:"cpus,omitempty"`
	TimeLimitSeconds int64  `json:"time_limit_seconds,omitempty"`
	GraceSeconds     int64  `json:"grace_seconds,omitempty"`
	Requeue          bool   `json:"requeue"`

	PeakMemBytes  int64    `json:"peak_mem_bytes,omitempty"`
	CPUSeconds    float64  `json:"cpu_seconds,omitempty"`
	Result        *Result  `json:"result,omitempty"`
	Reasons       []Reason `json:"reasons,omitempty"` // why it waits
	Why           string   `json:"why,omitempty"`     // the reasons in one short line
	Private       *Private `json:"private,omitempty"`
	InvocationID  string   `json:"invocation_id,omitempty"`
	StopRequested string   `json:"stop_requested,omitempty"` // cancel or time-limit
}

// GPURef names one GPU of a job.
type GPURef struct {
	UUID  string `json:"uuid"`
	Index int    `json:"index"`
}

// Private is what only the owner and admins see.
type Private struct {
	Command string   `json:"command"` // Argv for people: quoted for a shell, printable
	Argv    [][]byte `json:"argv"`
	EnvMode string   `json:"env_mode"`
	Env     [][]byte `json:"env,omitempty"`
	Dir     []byte   `json:"dir"`
	Umask   int      `json:"umask"`
}

// Result is how a job ended. Sentence is the text for people.
type Result struct {
	Outcome  string `json:"outcome"`
	ExitCode int    `json:"exit_code"`
	Signal   int    `json:"signal,omitempty"`
	Launch   string `json:"launch,omitempty"`
	Errno    int    `json:"errno,omitempty"`
	Code     int    `json:"code"` // the exit status that 'gpusched wait' gives
	Sentence string `json:"sentence"`
}

// Reason is one cause of waiting.
type Reason struct {
	Code     string `json:"code"`
	GPU      int    `json:"gpu"` // -1: the whole machine
	Job      int64  `json:"job,omitempty"`
	Need     int64  `json:"need,omitempty"`
	Have     int64  `json:"have,omitempty"`
	Detail   string `json:"detail,omitempty"`
	Sentence string `json:"sentence"`
}

// ListReply answers a listing: live jobs in queue order, then ended ones,
// newest first.
type ListReply struct {
	Schema string `json:"schema"`
	Jobs   []Job  `json:"jobs"`
	GPUs   []GPU  `json:"gpus"`
}

// JobReply answers for one job: show, why, cancel, wait.
type JobReply struct {
	Schema   string    `json:"schema"`
	Job      Job       `json:"job"`
	Attempts []Attempt `json:"attempts,omitempty"` // show only, oldest first
}

// Attempt is one start of a job.
type Attempt struct {
	Number       int       `json:"number"`
	GPUs         []GPURef  `json:"gpus,omitempty"`
	InvocationID string    `json:"invocation_id,omitempty"`
	PlacedAt     time.Time `json:"placed_at"`
	StartedAt    time.Time `json:"started_at,omitzero"`
	EndedAt      time.Time `json:"ended_at,omitzero"`
	Result       *Result   `json:"result,omitempty"`
}

// GPU is one GPU with what the driver says of it and what it is promised to.
type GPU struct {
	Index         int          `json:"index"`
	UUID          string       `json:"uuid"`
	Minor         int          `json:"minor"`
	Name          string       `json:"name"`
	PCI           string       `json:"pci,omitempty"`
	State         string       `json:"state"` // free, busy, paused, cleaning, suspect, lost, unknown
	StateDetail   string       `json:"state_detail,omitempty"`
	Paused        bool         `json:"paused"`
	PausedReason  string       `json:"paused_reason,omitempty"`
	PausedBy      string       `json:"paused_by,omitempty"`
	Jobs          []int64      `json:"jobs,omitempty"`
	MemTotalBytes uint64       `json:"mem_total_bytes"`
	MemUsedBytes  uint64       `json:"mem_used_bytes"`
	MemFreeBytes  uint64       `json:"mem_free_bytes"`
	UtilPercent   int          `json:"util_percent"`  // -1: unknown
	TempC         int          `json:"temp_c"`        // -1: unknown
	PowerMilliW   int64        `json:"power_milli_w"` // -1: unknown
	Processes     []GPUProcess `json:"processes,omitempty"`
}

// GPUProcess is one process on a GPU. Job is 0 for a process from outside.
type GPUProcess struct {
	PID       int    `json:"pid"`
	UID       int    `json:"uid"` // -1: unknown
	User      string `json:"user,omitempty"`
	Comm      string `json:"comm,omitempty"`
	UsedBytes int64  `json:"used_bytes"` // -1: unknown
	Job       int64  `json:"job,omitempty"`
}

// GPUsReply lists the GPUs.
type GPUsReply struct {
	Schema        string    `json:"schema"`
	Driver        string    `json:"driver,omitempty"`
	CUDA          string    `json:"cuda,omitempty"`
	Problem       string    `json:"problem,omitempty"`        // machine-readable, "" when all is well
	ProblemDetail string    `json:"problem_detail,omitempty"` // a sentence
	SampledAt     time.Time `json:"sampled_at,omitzero"`
	GPUs          []GPU     `json:"gpus"`
}

// PauseRequest pauses a GPU.
type PauseRequest struct {
	Reason string `json:"reason,omitempty"`
}

// CancelRequest ends a job, or with a signal only sends it.
type CancelRequest struct {
	Signal int `json:"signal,omitempty"`
}

// StatusReply is the daemon at a glance.
type StatusReply struct {
	Schema    string         `json:"schema"`
	Version   string         `json:"version"`
	StartedAt time.Time      `json:"started_at"`
	Health    string         `json:"health"` // HEALTHY, DEGRADED, FAILING
	Counts    map[string]int `json:"counts"` // jobs by state, live ones
	GPUs      []GPU          `json:"gpus"`
	Running   []Job          `json:"running"`
	Waiting   []Job          `json:"waiting"` // the first few
}

// HealthReply lists what was checked.
type HealthReply struct {
	Schema string  `json:"schema"`
	Health string  `json:"health"` // the worst of the checks
	Checks []Check `json:"checks"`
}

// Check is one part of the system. Next says what to do when it is not OK.
type Check struct {
	Name   string `json:"name"`
	Health string `json:"health"` // HEALTHY, DEGRADED, FAILING
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"`
}

// VersionReply names the running daemon.
type VersionReply struct {
	Schema  string `json:"schema"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}
