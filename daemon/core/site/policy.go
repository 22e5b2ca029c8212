package site

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
)

// Policy is the site's decisions, with the facts about its machine.
type Policy struct {
	HostMemBytes   int64         // for all jobs together; 0: not counted
	HostCPUs       int           // for all jobs together; 0: not counted
	GPUCPUs        int           // the part of HostCPUs that jobs on all GPUs count for if they name no CPUs
	DefaultTime    time.Duration // 0: no limit
	MaxTime        time.Duration // 0: no limit
	DefaultGrace   time.Duration
	MaxGrace       time.Duration // 0: no limit
	MaxMemBytes    int64         // of one job; 0: no limit
	DefaultRequeue bool

	WebhookPace      time.Duration     // the time between a user's messages to site webhooks, after a few; 0: none
	MaxSuspend       time.Duration     // how long an owner may suspend an attempt; 0: no limit
	MaxRetries       int               // the most that a job may ask for
	DefaultRetries   int               // of a job that names none
	DefaultBackoff   time.Duration     // before the first retry of a job that names none
	DefaultOnTimeout job.TimeoutAction // of a job that names none

	CPUAffinity bool // jobs with GPUs run on the CPUs near them
	AllowRaised bool // anyone may raise a priority

	// DefaultMem returns the host memory of a job that names none, by its request and the number of
	// GPUs; 0 means no limit. It must depend on its arguments alone. If it is nil, nobody has a
	// limit.
	DefaultMem func(gpuMilli, gpus int) int64

	ClassMaxTime map[job.Class]time.Duration // in addition to MaxTime

	// Predict replaces the learned run times in simulations, unless it is nil.
	Predict func(job.ID) time.Duration

	Sched  sched.Policy // order and placement
	Quotas job.Quotas

	MaxRunning int // 0: no limit
	NoGPUShare int // the percentage of MaxRunning, HostMemBytes and HostCPUs for jobs without a GPU; 0: all
	MaxQueued  int
	MaxBytes   int64 // the most that a user's jobs may weigh (job.Job.Weight) until they end; 0: no limit

	StartsInFlight int // units being started at once; 0: any number

	Xids gpu.XidClasses // what a GPU needs after each error

	DrainPending bool // a GPU with a bad memory row that waits to be replaced takes no job
	DrainFailed  bool // nor does one with a row that could not be replaced, until an administrator allows it

	LoadWindow time.Duration // a GPU's mean load over this time counts; 0: the last sample's

	LostAfter time.Duration // a GPU that is lost for this long ends its jobs; 0: never

	Usage UsagePolicy // about jobs that overuse their GPUs or do not use them

	Strays Strays // about processes that jobs leave behind outside their units

	// MaxForeignBytes is the memory that a foreign process may use on a GPU that a job asks for as
	// a whole (gpu.Process.Occupies); 0: any, and it may compute.
	MaxForeignBytes int64

	SmallestPart int   // the smallest part of a GPU that a job may ask for, in thousandths; 0: any
	PartsOn      []int // physical indexes of the GPUs that may be shared; empty: all

	OnlyGPUs        []int // physical indexes on offer; empty: all
	SlurmGPUs       GPUsOfSlurm
	CleaningTimeout time.Duration
	MemSlackBytes   int64         // GPU memory that may stay in use after a job without consequences
	StaleAfter      time.Duration // a sample older than this says nothing
	FreshFor        time.Duration // a sample younger than this allows a promise of memory
}

// GPUsOfSlurm are the GPUs that a Slurm on this machine assigns: no job is placed on them.
type GPUsOfSlurm struct {
	Every  bool
	Minors []int // of /dev/nvidia<minor>
}

// Equal reports whether both are the same GPUs.
func (g GPUsOfSlurm) Equal(o GPUsOfSlurm) bool {
	return g.Every == o.Every && slices.Equal(g.Minors, o.Minors)
}

// Has reports whether the GPU is one of Slurm's.
func (g *GPUsOfSlurm) Has(minor int) bool { return g.Every || slices.Contains(g.Minors, minor) }

// Strays is what the site does about the stray processes of ended jobs.
type Strays int

// The choices.
const (
	EndStrays  Strays = iota // SIGTERM, then SIGKILL
	KeepStrays               // they keep their GPU out of service
	TellStrays               // they count as foreign processes on the GPU
)

// Response is what the site does about a job that breaks a rule.
type Response int

// The responses. WarnAndStop warns first.
const (
	Ignore Response = iota
	Warn
	WarnAndStop
)

// UsagePolicy is what the site does about jobs that use more GPU memory than they were promised, or
// do not use a GPU that they hold.
type UsagePolicy struct {
	Memory      Response
	Tolerance   int64         // bytes above the budget that do not count
	MemoryGrace time.Duration // observed time over budget from the warning to a stop

	Idle      Response
	IdleAfter time.Duration // observed idle time up to the warning
	IdleGrace time.Duration // further idle time up to a stop
}

// Grace returns the time until a stop that a warning names; negative: no stop.
func (r Response) Grace(d time.Duration) time.Duration {
	if r == WarnAndStop {
		return d
	}
	return -1
}

// Breaks reports whether a stop would break what the warning said, because the settings have
// changed since: it announced no stop, or a later one.
func (r Response) Breaks(told, d time.Duration) bool {
	return r == WarnAndStop && (told < 0 || told > d)
}
