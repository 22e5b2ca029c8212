package job

import (
	"slices"
	"strconv"
	"time"
)

// Actor is the account that makes a request. The kernel reported it for the connection.
type Actor struct {
	UID    int
	GID    int
	User   string
	Person Account // the account itself, or the user to whom its subordinate uid belongs; no name: unknown
	Admin  bool    // root or a member of the admin group
}

// MayControl reports whether the actor may act on a job and read its private part. Administrators
// may, and so may the account that submitted the job, but not another account that has since got
// the same number.
func (a Actor) MayControl(j *Job) bool {
	return a.Admin || a.Is(j.Owner) && a.hasPersonOf(j) &&
		(j.Heir == nil || a.User == j.Owner.User && !Nameless(a.UID, a.User))
}

// hasPersonOf reports whether a subordinate uid still belongs to the same person as when the job
// was submitted. The uids of containers have no names of their own, and their ranges are
// reassigned. If one of the two persons is unknown, only the uid counts.
func (a Actor) hasPersonOf(j *Job) bool {
	p := j.Principal
	return p == nil || Nameless(p.UID, p.User) || Nameless(a.Person.UID, a.Person.User) || a.Person == *p
}

// Is reports whether the actor is the owner.
func (a Actor) Is(o Owner) bool { return o.Is(a.UID, a.User) }

// Query selects jobs. A zero Query selects all live jobs.
type Query struct {
	IDs     []ID   // only these jobs, live or ended; nil: all live jobs
	Ended   int    // number of ended jobs to add, newest first
	UID     *int   // only jobs of this user
	User    string // only jobs of the account with this recorded name; with UID: also those with its number and no name
	Array   ID     // only tasks of this array that have become jobs
	Waiting int    // number of waiting jobs to return, from the head of the queue; 0: all

	Reasons  bool // fill in why each waiting job waits
	Attempts bool // in a query by id: fill in all attempts
	Totals   bool // fill in View.Totals

	For CommandKind // in a query for names: only jobs to which this command applies, in the best order for it; "": all
	Choice
}

// Choice is a condition on the jobs of a listing. A zero field matches all jobs.
type Choice struct {
	States []State           // jobs in one of these states (with an ended state, ended jobs are searched as well)
	Name   string            // jobs with exactly this name
	Like   string            // jobs whose name matches this pattern: * is any text, ? any character
	Tags   map[string]string // jobs with all of these tags
	Since  time.Time         // no jobs that ended before this time
}

// IsAll reports whether c matches every job.
func (c *Choice) IsAll() bool {
	return len(c.States) == 0 && c.Name == "" && c.Like == "" && len(c.Tags) == 0 && c.Since.IsZero()
}

// matches reports whether c matches the job.
func (c *Choice) matches(j *Job) bool {
	for key, value := range c.Tags {
		if got, ok := j.Label.Tags[key]; !ok || got != value {
			return false
		}
	}
	switch {
	case len(c.States) > 0 && !slices.Contains(c.States, j.State), c.Name != "" && j.Label.Name != c.Name:
		return false
	case c.Like != "" && !matchesPattern(c.Like, j.Label.Name):
		return false
	}
	return c.Since.IsZero() || !j.State.Terminal() || !j.ChangedAt.Before(c.Since)
}

// matchesPattern reports whether a name matches a pattern. Each * first matches as little as
// possible. After a mismatch, only the last * has to match more.
func matchesPattern(pattern, name string) bool {
	p, n := []rune(pattern), []rune(name)
	at, star, from := 0, -1, 0
	for i := 0; i < len(n); {
		switch {
		case at < len(p) && p[at] == '*':
			star, from = at, i
			at++
		case at < len(p) && (p[at] == '?' || p[at] == n[i]):
			at, i = at+1, i+1
		case star >= 0:
			from++
			at, i = star+1, from
		default:
			return false
		}
	}
	for at < len(p) && p[at] == '*' {
		at++
	}
	return at == len(p)
}

// Matches reports whether the query's fields other than IDs select the job.
func (q *Query) Matches(j *Job) bool {
	switch {
	case !j.Owner.belongsTo(q.UID, q.User):
		return false
	case q.Array != 0 && (j.Task == nil || j.Task.Array != q.Array):
		return false
	}
	return q.Choice.matches(j)
}

// MatchesAll reports whether the query's fields other than IDs select every job.
func (q *Query) MatchesAll() bool {
	return q.UID == nil && q.User == "" && q.Array == 0 && q.Choice.IsAll()
}

// Name identifies a job for people by its number or, for a task, by a name such as "7_3".
type Name struct {
	ID   ID
	Task *Task // nil: the job is not a task
	UID  int   // uid of the owner
}

// Append appends the name to a text.
func (n Name) Append(text []byte) []byte {
	if n.Task != nil {
		return append(text, n.Task.String()...)
	}
	return strconv.AppendInt(text, int64(n.ID), 10)
}

// JobView is a job with what the scheduler adds about it.
type JobView struct {
	Job
	Reasons   []Reason
	Start     ExpectedStart  // for a queued job
	EndsAt    time.Time      // when a running job is expected to end; zero: unknown
	ResumesAt time.Time      // when a suspended job resumes by itself; zero: never
	Attempts  []Attempt      // if asked for: earlier attempts and the current one
	MemKnown  int64          // the most memory of one GPU that earlier runs of the command took; 0: unknown
	Uses      []GPUNow       // for a job with GPUs, in the order of Attempt.GPUs, up to the last sample; nil: as on record
	Notified  []Notification // if Attempts were asked for: all messages about the job that are owed, sent or given up
	LiveTasks LiveTasks      // for an array that has not ended
}

// LiveTasks are the numbers of those tasks of an array that became jobs and have not ended.
type LiveTasks struct {
	Waiting []int // tasks in the queue again, after an attempt
	Held    int   // number of those that are held
	Running []int // tasks with a unit
}

// ExpectedStart is the predicted start of a job; zero: unknown. With a chance of about 80% the
// start lies between From and By. If By is zero, the end of that span is unknown.
//
// If By is the only time that is set, the job may start at any time until then.
type ExpectedStart struct {
	At, From, By time.Time
	Unknown      bool // the run times of other jobs are unknown
}

// GPUProcess is a process that the driver reports on a GPU.
type GPUProcess struct {
	PID       int    `json:"pid"`
	UID       int    `json:"uid"`            // -1: unknown
	User      string `json:"user,omitempty"` // the name of UID; the server sets it
	Comm      string `json:"comm,omitempty"`
	UsedBytes int64  `json:"used_bytes"`      // -1: unknown
	Job       ID     `json:"job,omitempty"`   // 0: a foreign process
	Stray     bool   `json:"stray,omitempty"` // the process is outside its job's unit

	// For a foreign process on a GPU of another user's job: when its user was told, and when the
	// process is ended, as its user was told.
	ToldAt time.Time `json:"told_at,omitzero"`
	EndsAt time.Time `json:"ends_at,omitzero"`
}

// GPUShare is a job's part of a GPU, in the description of the GPU.
type GPUShare struct {
	Job          ID     `json:"job"`
	Called       string `json:"called,omitempty"`        // the job's name for people: "12", or "7_3" for a task
	Milli        int    `json:"milli"`                   // WholeGPU: the job has the whole GPU
	PromiseBytes int64  `json:"promise_bytes,omitempty"` // GPU memory kept for the job; 0: none
	UsedBytes    int64  `json:"used_bytes"`              // in the last sample; -1: unknown
	PeakBytes    int64  `json:"peak_bytes,omitempty"`    // the highest use in all samples
}

// GPULink is the best connection between two GPUs. A and B are their indexes, A < B.
type GPULink struct {
	A     int    `json:"a"`
	B     int    `json:"b"`
	Kind  string `json:"kind"`            // a kind of package gpu: nvlink, switch, bridge, node, cross
	Lanes int    `json:"lanes,omitempty"` // for nvlink
}

// GPU is one GPU, with what the driver reports and the jobs on it.
type GPU struct {
	Index         int          `json:"index"`
	UUID          string       `json:"uuid"`
	Minor         int          `json:"minor"`
	Name          string       `json:"name"`
	PCI           string       `json:"pci,omitempty"`
	Slice         *GPUSlice    `json:"slice,omitempty"` // which slice of a GPU in MIG mode it is; nil: a whole GPU
	State         GPUState     `json:"state"`
	Jobs          []ID         `json:"jobs,omitempty"`
	FreeMilli     int          `json:"free_milli"`       // the free part, whatever the GPU's state
	Shares        []GPUShare   `json:"shares,omitempty"` // the shares of the jobs on it
	NUMANode      int          `json:"numa_node"`        // -1: unknown
	CPUs          string       `json:"cpus,omitempty"`   // CPUs near the GPU, as "0-15,32-47"; "": unknown
	MemTotalBytes uint64       `json:"mem_total_bytes"`
	MemUsedBytes  uint64       `json:"mem_used_bytes"`
	MemFreeBytes  uint64       `json:"mem_free_bytes"`
	UtilPercent   int          `json:"util_percent"`  // -1: unknown
	TempC         int          `json:"temp_c"`        // -1: unknown
	PowerMilliW   int64        `json:"power_milli_w"` // -1: unknown
	Processes     []GPUProcess `json:"processes,omitempty"`
	UnlistedBytes int64        `json:"unlisted_bytes,omitempty"` // memory of unlisted processes, if it bars whole-GPU jobs
}

// GPUSlice identifies a slice of a GPU in MIG mode. The numbers are those of the driver.
type GPUSlice struct {
	Card            int `json:"card"` // index of the GPU
	GPUInstance     int `json:"gpu_instance"`
	ComputeInstance int `json:"compute_instance"`
}

// Card returns the driver's index of the GPU, or of the GPU that the slice is part of.
func (g *GPU) Card() int {
	if g.Slice != nil {
		return g.Slice.Card
	}
	return g.Index
}

// GPUView is one GPU, with details of its health.
type GPUView struct {
	GPU
	StateDetail Message
	ComputeMode string  // the driver's mode: default, exclusive-process, prohibited; "": unknown
	RowsPending bool    // a bad memory row waits for a reset that replaces it
	RowsFailed  bool    // a bad memory row could not be replaced
	Untested    Message // why it is used without a test with CUDA; zero: it was tested, or is not used
	Doubt       Message // it may be at fault: its last jobs, all of one user, failed at once; zero: no doubt
	Stuck       ID      // a job on the GPU whose processes can't be killed; 0: none
	Needs       string  // what the GPU needs after a fault: a Recovery of package gpu
	Control     GPUControl

	EnergyMilliJ uint64 // energy used since the driver was loaded, by its counter; 0: unknown
}

// GPUSource describes the driver and its last answer.
type GPUSource struct {
	Driver string `json:"driver,omitempty"`
	CUDA   string `json:"cuda,omitempty"`

	// DriverInstalled is the version of the driver on disk, if another one is loaded. No GPU takes
	// jobs until both agree.
	DriverInstalled string `json:"driver_installed,omitempty"`

	Problem       string    `json:"problem,omitempty"`        // machine-readable; "": all is well
	ProblemDetail string    `json:"problem_detail,omitempty"` // a sentence
	SampledAt     time.Time `json:"sampled_at,omitzero"`
}

// View answers a Query: first the live jobs in queue order, then ended jobs, newest first. It also
// has the GPUs.
type View struct {
	Jobs         []JobView
	GPUs         []GPUView
	Drained      *GPUControl   // the order that stops all starts; nil: there is none
	Ends         *Shutdown     // the planned shutdown or reboot; nil: there is none
	Links        []GPULink     // if a pair is missing, its link is unknown
	Reservations []Reservation // those that have not ended, by start
	GPUSource
	ProblemCause string // the words of the driver's library, or of the program that asks it
	Host         HostView
	Counts       map[State]int // counts of all live jobs, whatever the query
	Omitted      int           // number of matching waiting jobs beyond Query.Waiting
	StartedAt    time.Time     // when the daemon started
	Totals       *Totals       // if asked for
}

// Totals sum up past and present jobs. An array counts as one job until its tasks have become jobs.
type Totals struct {
	Submitted int                   `json:"submitted"` // number of jobs ever submitted, by the ids given out
	Ended     map[State]int         `json:"ended"`     // jobs that ended since the daemon's start
	Classes   map[Class]ClassTotals `json:"classes"`   // jobs that have not ended
}

// ClassTotals count the jobs of a class.
type ClassTotals struct {
	Queued int `json:"queued"`
	Active int `json:"active"` // jobs that have a unit or may have one
}

// HostView is the machine's capacity for jobs in addition to GPUs, and how much of it is in use. If
// the capacity of a resource is 0, the resource is not counted.
type HostView struct {
	MemBytes    int64 `json:"mem_bytes,omitempty"`
	PromisedMem int64 `json:"promised_mem_bytes"`
	ParkedMem   int64 `json:"parked_mem_bytes,omitempty"` // part of PromisedMem for the GPU memory of parked jobs

	CPUs         int `json:"cpus,omitempty"`
	PromisedCPUs int `json:"promised_cpus"`
	Places       int `json:"places,omitempty"` // number of jobs that may run at once
	Taken        int `json:"places_taken"`
}

// Health is the condition of a part of the system.
type Health string

// The states of health, best first. A Limited part works as configured, or as well as it can on
// this machine. It is reported, but the whole still counts as healthy.
const (
	Healthy  Health = "HEALTHY"
	Limited  Health = "LIMITED"
	Degraded Health = "DEGRADED"
	Failing  Health = "FAILING"
)

// Check is the health of one part of the system.
type Check struct {
	Name   string `json:"name"`
	Health Health `json:"health"`
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"` // what to do if the part is not healthy

	Said   *Message `json:"said,omitempty"`            // Detail before it is put into words, if it mentions times
	Unread bool     `json:"unread_settings,omitempty"` // the settings on disk are not in force
}

const (
	SettingsPart  = "settings"
	SchedulerPart = "scheduler" // present only if nothing can be scheduled
)

// Degrade returns the part as degraded, with the fault and with what to do about it.
func (c Check) Degrade(detail, next string) Check {
	return Check{Name: c.Name, Health: Degraded, Detail: detail, Next: next}
}

// Worst returns the health of the whole, which is that of its worst part. Limited counts as
// Healthy.
func Worst(checks []Check) Health {
	worst := Healthy
	for _, c := range checks {
		if c.Health == Failing || c.Health == Degraded && worst == Healthy {
			worst = c.Health
		}
	}
	return worst
}

// CommandKind is the kind of a command.
type CommandKind string

// The commands.
const (
	CommandCancel    CommandKind = "cancel"     // end the job
	CommandSignal    CommandKind = "signal"     // send Signal to the job's processes
	CommandPauseGPU  CommandKind = "pause-gpu"  // start no new jobs on GPU
	CommandResumeGPU CommandKind = "resume-gpu" // undo the pause or drain
	CommandDrainGPU  CommandKind = "drain-gpu"  // start no new jobs on GPU, because it is to be taken out of service
	CommandHold      CommandKind = "hold"       // keep a queued job from starting
	CommandRelease   CommandKind = "release"    // undo the hold
	CommandRequeue   CommandKind = "requeue"    // stop a running job and move it to the end of the queue
	CommandUpdate    CommandKind = "update"     // apply Change to a queued job, or change the time limit of a running one
	CommandSuspend   CommandKind = "suspend"    // suspend a running job
	CommandResume    CommandKind = "resume"     // resume a suspended job
	CommandPark      CommandKind = "park"       // park a running job
	CommandUnpark    CommandKind = "unpark"     // give a parked job its GPUs back as soon as they are free
	CommandOpen      CommandKind = "open"       // let the owner run commands in a running job's unit
	CommandDrain     CommandKind = "drain"      // start no job at all
	CommandUndrain   CommandKind = "undrain"    // undo the drain
	CommandReserve   CommandKind = "reserve"    // make the reservation in Reservation
	CommandUnreserve CommandKind = "unreserve"  // end the reservation with Reservation.ID
)

// Command is an actor's request about a job or a GPU. Its fields apply to some kinds only.
type Command struct {
	Kind   CommandKind
	Job    ID
	GPU    int  // physical index of the GPU
	Task   *int // only this task of the array Job (cancel: even before it has started)
	Signal int
	Main   bool // signal: only to the main process
	Reason string

	Unawaited bool  // cancel: only if no job waits for it
	Grace     *Span // cancel: time from SIGTERM to SIGKILL, at most the job's own grace; nil: the job's grace

	Until  time.Time // pause and drain: when they end by themselves; zero: never
	Reboot *Reboot   // drain: the machine is to reboot; nil: it is not

	Change      *Change
	MemUsed     int64        // the host memory that the running job can't give back, if Change has MemBytes; 0: unknown
	Ended       map[ID]End   // as in a Submission, for the jobs that Change.After names
	Reservation *Reservation // it names its GPUs only by index
}

// Property is one property of a unit, formatted for people.
type Property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Submitted is the answer to a submission.
type Submitted struct {
	JobView
	Known bool       // the request key, or the content with --dedup, was known: no new job was queued
	Unit  []Property // only in the answer to a dry run
}
