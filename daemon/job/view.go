package job

import (
	"slices"
	"strconv"
	"time"
)

// Actor is who asks for something, as the kernel reported the connection.
type Actor struct {
	UID    int
	GID    int
	User   string
	Person Account // whose subordinate UID is, or the account itself; without a name: that is not known
	Admin  bool    // root or a member of the admin group
}

// MayControl reports whether the actor may act on a job of the owner and read
// its private part: the account that submitted the job, and not one that was given its number since.
func (a Actor) MayControl(j *Job) bool {
	return a.Admin || a.Is(j.Owner) && a.hasPersonOf(j) &&
		(j.Heir == nil || a.User == j.Owner.User && !Nameless(a.UID, a.User))
}

// hasPersonOf reports whether a number is still the same person's to use as when it submitted a
// job. Those of containers have no name to tell them by, and ranges of them are given to others;
// where one of the two persons is not known the number decides.
func (a Actor) hasPersonOf(j *Job) bool {
	p := j.Principal
	return p == nil || Nameless(p.UID, p.User) || Nameless(a.Person.UID, a.Person.User) || a.Person == *p
}

// Is reports whether the actor is the owner.
func (a Actor) Is(o Owner) bool { return o.Is(a.UID, a.User) }

// Query selects jobs. Zero fields select everything live.
type Query struct {
	IDs     []ID   // of these, live or ended; nil: of all that live
	Ended   int    // also this many ended jobs, newest first
	UID     *int   // of this user
	User    string // of the account recorded by this name; with UID also of that number where no name was known
	Array   ID     // tasks of this array that have become jobs
	Waiting int    // at most so many waiting jobs, the first in the queue; 0: all

	Reasons  bool // fill in why each waiting job waits
	Attempts bool // of a query by id: fill in all attempts
	Totals   bool // fill in View.Totals

	For CommandKind // of names: those that this can be done to, in the order in which it is best done; "": all
	Choice
}

// Choice is what a job of a listing has to be like; what is zero chooses all.
type Choice struct {
	States []State           // in one of these (an ended state searches the ended ones)
	Name   string            // with exactly this name
	Like   string            // with a name that this pattern matches: * is any text, ? any character
	Tags   map[string]string // with all of these
	Since  time.Time         // if it has ended, not before then
}

// IsAll reports whether it chooses every job.
func (c *Choice) IsAll() bool {
	return len(c.States) == 0 && c.Name == "" && c.Like == "" && len(c.Tags) == 0 && c.Since.IsZero()
}

// has reports whether the job is chosen.
func (c *Choice) has(j *Job) bool {
	for key, value := range c.Tags {
		if got, ok := j.Label.Tags[key]; !ok || got != value {
			return false
		}
	}
	switch {
	case len(c.States) > 0 && !slices.Contains(c.States, j.State), c.Name != "" && j.Label.Name != c.Name:
		return false
	case c.Like != "" && !like(c.Like, j.Label.Name):
		return false
	}
	return c.Since.IsZero() || !j.State.Terminal() || !j.ChangedAt.Before(c.Since)
}

// like reports whether a name matches a pattern. What stands for any text is tried for
// the shortest first, and the last of them alone is tried again: that is enough.
func like(pattern, name string) bool {
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

// Matches reports whether a job is one of those that the query's fields select,
// IDs aside.
func (q *Query) Matches(j *Job) bool {
	switch {
	case !j.Owner.belongsTo(q.UID, q.User):
		return false
	case q.Array != 0 && (j.Task == nil || j.Task.Array != q.Array):
		return false
	}
	return q.Choice.has(j)
}

// MatchesAll reports whether every job is one of those.
func (q *Query) MatchesAll() bool {
	return q.UID == nil && q.User == "" && q.Array == 0 && q.Choice.IsAll()
}

// Name is what people call a job: its number, or as a task "7_3".
type Name struct {
	ID   ID
	Task *Task // nil: it is no task
	UID  int   // of its owner
}

// Append adds the name to a text.
func (n Name) Append(text []byte) []byte {
	if n.Task != nil {
		return append(text, n.Task.String()...)
	}
	return strconv.AppendInt(text, int64(n.ID), 10)
}

// JobView is one job with the reasons for which it waits.
type JobView struct {
	Job
	Reasons   []Reason
	Start     ExpectedStart  // of a queued job
	EndsAt    time.Time      // when a running job is expected to end; zero: nobody can say
	GoesOnAt  time.Time      // when a suspended one goes on by itself; zero: it does not
	Attempts  []Attempt      // where they were asked for: earlier ones and the current
	MemKnown  int64          // the most GPU memory, of one GPU, that earlier runs of its command took; 0: none is known
	Uses      []GPUNow       // of one that holds GPUs, as Attempt.GPUs, up to the last sample; nil: as on record
	Notified  []Notification // where Attempts were asked for: messages about it, owed, sent or given up
	LiveTasks LiveTasks      // of an array that has not ended
}

// LiveTasks is how the tasks of an array that have become jobs, and not ended, stand: their numbers.
type LiveTasks struct {
	Waiting []int // in the queue again, after an attempt
	Held    int   // how many of those are held
	Running []int // with a unit
}

// ExpectedStart is when a job is expected to start by predictions; zero: nobody can say. With a
// chance of about four in five it is between From and By, which is zero where nobody can say.
//
// By without From is the latest moment; the start may be any time before.
type ExpectedStart struct {
	At, From, By time.Time
	Unknown      bool // nothing is known of how long others run
}

// GPUProcess is one process that the driver reports on a GPU.
type GPUProcess struct {
	PID       int    `json:"pid"`
	UID       int    `json:"uid"`            // -1: unknown
	User      string `json:"user,omitempty"` // the name of UID, which the server knows
	Comm      string `json:"comm,omitempty"`
	UsedBytes int64  `json:"used_bytes"`      // -1: unknown
	Job       ID     `json:"job,omitempty"`   // 0: from outside
	Stray     bool   `json:"stray,omitempty"` // it is outside of the unit of its job
}

// GPUShare is a job's part of a GPU, seen from the GPU.
type GPUShare struct {
	Job          ID     `json:"job"`
	Called       string `json:"called,omitempty"`        // what people call the job: "12", or "7_3" for a task
	Milli        int    `json:"milli"`                   // WholeGPU is all of it
	PromiseBytes int64  `json:"promise_bytes,omitempty"` // GPU memory kept for the job; 0: none
	UsedBytes    int64  `json:"used_bytes"`              // by the last sample; -1: unknown
	PeakBytes    int64  `json:"peak_bytes,omitempty"`    // the most that a sample saw
}

// GPULink is the best way between two GPUs, named by their indexes, A < B.
type GPULink struct {
	A     int    `json:"a"` // below B
	B     int    `json:"b"`
	Kind  string `json:"kind"`            // of package gpu: nvlink, switch, bridge, node, cross
	Lanes int    `json:"lanes,omitempty"` // of nvlink
}

// GPU is one GPU with what the driver says of it and what it is promised to.
type GPU struct {
	Index         int          `json:"index"`
	UUID          string       `json:"uuid"`
	Minor         int          `json:"minor"`
	Name          string       `json:"name"`
	PCI           string       `json:"pci,omitempty"`
	State         GPUState     `json:"state"`
	Jobs          []ID         `json:"jobs,omitempty"`
	FreeMilli     int          `json:"free_milli"`       // of its share, whatever its state
	Shares        []GPUShare   `json:"shares,omitempty"` // of the jobs on it
	NUMANode      int          `json:"numa_node"`        // -1: unknown
	CPUs          string       `json:"cpus,omitempty"`   // those near it as the kernel lists them, "0-15,32-47"; "" unknown
	MemTotalBytes uint64       `json:"mem_total_bytes"`
	MemUsedBytes  uint64       `json:"mem_used_bytes"`
	MemFreeBytes  uint64       `json:"mem_free_bytes"`
	UtilPercent   int          `json:"util_percent"`  // -1: unknown
	TempC         int          `json:"temp_c"`        // -1: unknown
	PowerMilliW   int64        `json:"power_milli_w"` // -1: unknown
	Processes     []GPUProcess `json:"processes,omitempty"`
	UnlistedBytes int64        `json:"unlisted_bytes,omitempty"` // of processes that the driver does not list, where they keep jobs that ask it whole away
}

// GPUView is one GPU as the scheduler sees it: with what its health is told by.
type GPUView struct {
	GPU
	StateDetail Message
	ComputeMode string  // of the driver: default, exclusive-process, prohibited; "" unknown
	RowsPending bool    // a bad row of its memory waits for a reset to be replaced
	RowsFailed  bool    // a bad row of its memory could not be replaced once
	Doubt       Message // it may be at fault: the last jobs there, all of one user's, failed at once; zero: it isn't
	Stuck       ID      // the job on it that can't be ended, 0: none
	Needs       string  // what a sick one does: a Recovery of package gpu
	Control     GPUControl

	EnergyMilliJ uint64 // used since the driver was loaded, by its count; 0: unknown
}

// GPUSource is what the driver says of itself, and when it was asked last.
type GPUSource struct {
	Driver        string    `json:"driver,omitempty"`
	CUDA          string    `json:"cuda,omitempty"`
	Problem       string    `json:"problem,omitempty"`        // machine-readable, "" when all is well
	ProblemDetail string    `json:"problem_detail,omitempty"` // a sentence
	SampledAt     time.Time `json:"sampled_at,omitzero"`
}

// View answers a Query: jobs live first in queue order, then ended ones,
// newest first; and the GPUs.
type View struct {
	Jobs         []JobView
	GPUs         []GPUView
	Drained      *GPUControl   // the order by which no job starts; nil: there is none
	Links        []GPULink     // a pair that is not there is unknown
	Reservations []Reservation // that have not ended, by start
	GPUSource
	ProblemCause string // what the library, or the program that asks it, said itself
	Host         HostView
	Counts       map[State]int // all live jobs, whatever was asked
	Omitted      int           // waiting jobs that match, beyond Query.Waiting
	StartedAt    time.Time     // of the daemon
	Totals       *Totals       // where they were asked for
}

// Totals sum up what there was and what there is to do. An array is one job until its tasks
// have become jobs.
type Totals struct {
	Submitted int                   `json:"submitted"` // ever, as far as numbers were given out
	Ended     map[State]int         `json:"ended"`     // since the daemon's start
	Classes   map[Class]ClassTotals `json:"classes"`   // of jobs that have not ended
}

// ClassTotals are how many jobs of a class there are.
type ClassTotals struct {
	Queued int `json:"queued"`
	Active int `json:"active"` // that have a unit or may have one
}

// HostView is how much jobs may have of the machine besides GPUs, and have. What is not
// counted is 0.
type HostView struct {
	MemBytes    int64 `json:"mem_bytes,omitempty"`
	PromisedMem int64 `json:"promised_mem_bytes"`

	CPUs         int `json:"cpus,omitempty"`
	PromisedCPUs int `json:"promised_cpus"`
	Places       int `json:"places,omitempty"` // jobs that may run at once
	Taken        int `json:"places_taken"`
}

// Health is how well a part works.
type Health string

// The healths, best first. What is Limited works as somebody wants it, or as well as it can here: it is told, and is no
// fault of the whole.
const (
	Healthy  Health = "HEALTHY"
	Limited  Health = "LIMITED"
	Degraded Health = "DEGRADED"
	Failing  Health = "FAILING"
)

// Check is one part of the system and how it is.
type Check struct {
	Name   string `json:"name"`
	Health Health `json:"health"`
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"` // what to do when it is not healthy

	Said   *Message `json:"said,omitempty"`            // Detail before it is in words, where it has times
	Unread bool     `json:"unread_settings,omitempty"` // the settings on disk are not in force
}

// Parts of Health.
const (
	SettingsPart  = "settings"
	SchedulerPart = "scheduler" // only there where nothing can be scheduled
)

// Degrade returns the part with what is wrong with it and what to do about that.
func (c Check) Degrade(detail, next string) Check {
	return Check{Name: c.Name, Health: Degraded, Detail: detail, Next: next}
}

// Worst returns the health of the whole: that of its worst part, which is not worse for being limited.
func Worst(checks []Check) Health {
	worst := Healthy
	for _, c := range checks {
		if c.Health == Failing || c.Health == Degraded && worst == Healthy {
			worst = c.Health
		}
	}
	return worst
}

// CommandKind is what an actor wants done.
type CommandKind string

// The commands.
const (
	CommandCancel    CommandKind = "cancel"     // end the job
	CommandSignal    CommandKind = "signal"     // send Signal to the job's processes
	CommandPauseGPU  CommandKind = "pause-gpu"  // nothing new on GPU
	CommandResumeGPU CommandKind = "resume-gpu" // undo the pause or drain
	CommandDrainGPU  CommandKind = "drain-gpu"  // nothing new on GPU, it is to be taken out of service
	CommandHold      CommandKind = "hold"       // keep a queued job from starting
	CommandRelease   CommandKind = "release"    // undo the hold
	CommandRequeue   CommandKind = "requeue"    // stop a running job and queue it again, at the end
	CommandUpdate    CommandKind = "update"     // change a queued job as Change says, or the time limit of a running one
	CommandSuspend   CommandKind = "suspend"    // halt a running job
	CommandResume    CommandKind = "resume"     // let a suspended job go on
	CommandOpen      CommandKind = "open"       // let the owner run commands in a running job's unit
	CommandDrain     CommandKind = "drain"      // start no job at all
	CommandUndrain   CommandKind = "undrain"    // undo that
	CommandReserve   CommandKind = "reserve"    // make Reservation
	CommandUnreserve CommandKind = "unreserve"  // end the reservation with Reservation.ID
)

// Command is one wish of an actor about a job or a GPU.
type Command struct {
	Kind   CommandKind
	Job    ID
	GPU    int  // physical index
	Task   *int // of the array Job, this task (cancel: also one that has not started)
	Signal int
	Main   bool // signal: to the main process alone
	Reason string

	Unawaited bool  // cancel: only if no job waits for it
	Grace     *Span // cancel: from SIGTERM to SIGKILL, at most the job's own; nil: that

	Until time.Time // pause and drain: when it ends by itself; zero: never

	Change      *Change
	Ended       map[ID]End   // as in a Submission, of the jobs that Change.After names
	Reservation *Reservation // the GPUs by index alone
}

// Property is one unit property rendered for reading.
type Property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Submitted answers a submission.
type Submitted struct {
	JobView
	Known bool       // the request key, or the content of a --dedup, was known: nothing new was queued
	Unit  []Property // dry run only
}
