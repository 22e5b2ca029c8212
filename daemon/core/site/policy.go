package site

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
)

// Policy is what the site decided, and what the machine is.
type Policy struct {
	HostMemBytes   int64         // that jobs may be promised together; 0: not counted
	HostCPUs       int           // that jobs may be promised together; 0: not counted
	GPUCPUs        int           // of these, for which jobs that have all GPUs and name no CPUs count together
	DefaultTime    time.Duration // 0: no limit
	MaxTime        time.Duration // 0: none
	DefaultGrace   time.Duration
	MaxGrace       time.Duration // 0: none
	MaxMemBytes    int64         // of one job; 0: none
	DefaultRequeue bool

	WebhookPace      time.Duration     // between messages of one user to webhooks of the site's, but a few; 0: none
	MaxSuspend       time.Duration     // that an owner may have one attempt suspended; 0: no bound
	MaxRetries       int               // that a job may ask for
	DefaultRetries   int               // of a job that names none
	DefaultBackoff   time.Duration     // before the first retry of a job that names none
	DefaultOnTimeout job.TimeoutAction // of a job that names none

	CPUAffinity bool // jobs with GPUs run on the CPUs near them
	AllowRaised bool // anyone may raise a priority

	// DefaultMem gives the host memory of a job that names none, by what it
	// asks and how many GPUs there are; 0 means no limit. It must be a function
	// of its arguments alone. Nil means no limit for anybody.
	DefaultMem func(gpuMilli, gpus int) int64

	ClassMaxTime map[job.Class]time.Duration // in addition to MaxTime

	// Predict replaces the run times learned, in simulations; nil does not.
	Predict func(job.ID) time.Duration

	Sched  sched.Policy // in which order and where
	Quotas job.Quotas

	MaxRunning int // 0: no limit
	NoGPUShare int // percent of MaxRunning, HostMemBytes and HostCPUs for jobs without a GPU, where there are GPUs; 0: all
	MaxQueued  int
	MaxBytes   int64 // that the jobs of one user may weigh (job.Job.Weight) until they end; 0: no limit

	StartsInFlight int // units being started at once; 0: any number

	Xids gpu.XidClasses // what a GPU needs after which error

	DrainPending bool // a GPU with a bad row of memory that waits to be replaced takes no job
	DrainFailed  bool // nor one with a row that could not be, until an administrator says otherwise

	LoadWindow time.Duration // of which the mean load of a GPU counts; 0: that of the last sample

	LostAfter time.Duration // a GPU lost for so long ends its jobs; 0: never

	Usage UsagePolicy // what is done about jobs that overuse or do not use their GPUs

	Strays Strays // what is done about processes that jobs leave behind outside of their units

	// MaxForeignBytes is what a process of no job may have of a GPU that is asked whole
	// (gpu.Process.Occupies); 0: any, and it may compute.
	MaxForeignBytes int64

	SmallestPart int   // of a GPU that a job may ask, in thousandths; 0: any
	PartsOn      []int // physical indexes of GPUs of which parts are given; empty: all

	OnlyGPUs        []int // physical indexes on offer; empty: all
	SlurmGPUs       GPUsOfSlurm
	CleaningTimeout time.Duration
	MemSlackBytes   int64         // GPU memory that may stay used after a job without being held against it
	StaleAfter      time.Duration // a sample older than this says nothing
	FreshFor        time.Duration // a sample younger than this is good for a memory promise
}

// GPUsOfSlurm are those that a Slurm of this machine gives away: no job is placed on them.
type GPUsOfSlurm struct {
	Every  bool
	Minors []int // of /dev/nvidia<minor>
}

// Equal reports whether they are the same.
func (g GPUsOfSlurm) Equal(o GPUsOfSlurm) bool {
	return g.Every == o.Every && slices.Equal(g.Minors, o.Minors)
}

// Has reports whether a GPU is among them.
func (g *GPUsOfSlurm) Has(minor int) bool { return g.Every || slices.Contains(g.Minors, minor) }

// Strays is what the site does about strays of a job that has ended.
type Strays int

// The choices.
const (
	EndStrays  Strays = iota // SIGTERM, and SIGKILL if that is not enough
	KeepStrays               // they keep their GPU out of service
	TellStrays               // they are users of the GPU without a job, as any other
)

// Response is what the site does about a job that does not keep to something.
type Response int

// The responses. StopIt warns first.
const (
	Ignore Response = iota
	Warn
	WarnAndStop
)

// UsagePolicy is what the site does about jobs that use more memory of a GPU than
// they were promised, or nothing of a GPU that they hold.
type UsagePolicy struct {
	Memory      Response
	Tolerance   int64         // bytes above the budget that do not count
	MemoryGrace time.Duration // seen over the budget for so long after the warning, before a stop

	Idle      Response
	IdleAfter time.Duration // seen unused for so long, before the warning
	IdleGrace time.Duration // and for so long after it, before a stop
}

// Grace is how long a warning says that a job has until a stop; negative: none
// comes.
func (r Response) Grace(d time.Duration) time.Duration {
	if r == WarnAndStop {
		return d
	}
	return -1
}

// Breaks reports whether a stop would come that a warning did not report, or
// sooner than it said: the settings are others now.
func (r Response) Breaks(told, d time.Duration) bool {
	return r == WarnAndStop && (told < 0 || told > d)
}
