package config

import (
	"log/slog"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// Where the daemon's settings are.
const (
	MainFile  = "/etc/gpusched/gpusched.toml"
	DropInDir = "/etc/gpusched/conf.d"
)

// Config is every setting of the site. The zero value is not valid: start
// from Default.
type Config struct {
	Jobs       Jobs
	Classes    map[job.Class]Class // those that a file names
	Scheduling Scheduling
	Quotas     job.Quotas
	GPUs       GPUs
	GPUMemory  GPUMemory
	Idle       Idle
	Notify     Notify
	Xids       gpu.XidClasses // each list ascending
	Limits     Limits
	Metrics    Metrics
	Daemon     Daemon
}

// Jobs is what jobs get without asking, and the most they may ask.
type Jobs struct {
	DefaultMem          DefaultMem    // host memory of a job that asks none
	DefaultTime         time.Duration // time limit of a job that asks none; 0: MaxTime
	MaxTime             time.Duration // the longest time limit; 0: no bound
	DefaultGrace        time.Duration // between SIGTERM and SIGKILL for a job that asks none
	MaxGrace            time.Duration // the longest grace that may be asked
	MaxMem              int64         // the most host memory a job may ask for; 0: no bound
	AllowedPaths        []string      // places that jobs may be run out of, with patterns; empty: everywhere
	CPUs                job.Part      // that jobs may be promised together, of the machine's; zero: not counted
	DefaultCPUs         job.Part      // of those, for which jobs on all GPUs that name none count together
	TasksMax            int           // processes and threads of one job
	MaxRunning          int           // jobs running at once
	ShareWithoutGPU     int           // percent of that and of the host's memory for jobs without a GPU
	MaxQueued           int           // jobs waiting at once
	Requeue             bool          // whether a job that asks nothing starts again after a reboot took it
	MaxSuspend          time.Duration // that an owner may have a job suspended; 0: no bound
	MaxRetries          int           // after failures, the most a job may ask
	DefaultRetries      int           // of a job that asks none
	DefaultBackoff      time.Duration // before the first retry of a job that asks none
	DefaultOnTimeout    job.TimeoutAction
	Log                 string // path of a file for the output of each job that names none, with sequences; "": none
	AllowRaisedPriority bool   // whether users may go above priority normal
	AllowSandboxed      bool   // whether processes in a sandbox may submit
}

// Class is what holds for the jobs of one class besides Jobs.
type Class struct {
	MaxTime time.Duration // the longest time limit; 0: no bound of the class
}

// Scheduling is in which order jobs start.
type Scheduling struct {
	Policy           Order
	HalfLife         time.Duration // after which use counts half in fair share; 0: use does not count
	GuardAfter       time.Duration // a job that waited longer goes first in its class and number; 0: never
	GuardPercent     int           // of the machine, for such jobs
	ReservationDepth int           // jobs that GPUs are kept for
	Slice            time.Duration // a preemptible job runs at least so long before it is stopped
}

// Order is by what jobs of one class are ordered.
type Order string

// The orders.
const (
	OrderFair Order = "fair" // fair share and response ratio
	OrderFIFO Order = "fifo" // priority, then submission
)

// GPUs is how GPUs are watched, shared out and checked.
type GPUs struct {
	SampleInterval  time.Duration // between two looks at the GPUs while nothing happens
	SampleTimeout   time.Duration // a look that takes longer makes the GPUs unknown
	Only            []int         // physical indexes gpusched may use, ascending; empty: all
	Slurm           SlurmGPUs     // about GPUs that a Slurm of this machine gives away
	SmallestPart    int           // of a GPU that a job may ask, in thousandths
	PartsOn         []int         // physical indexes of GPUs of which parts are given, ascending; empty: all
	ExtraDevices    []string      // absolute paths under /dev that jobs with a GPU may open besides it
	DeviceFilter    FilterMode
	CleaningTimeout time.Duration // from cleaning to suspect after a job
	MemorySlack     int64         // bytes that may stay used on a GPU that counts as clean
	Strays          StrayAction   // about processes of jobs on GPUs that these do not have
	DrainBadMemory  BadMemory     // from when on a GPU with bad memory takes no job
	KernelLog       string        // absolute path of what is read as /dev/kmsg is; "": errors of GPUs are not looked for
	AlertUnit       string        // template of the unit that is started for a GPU that goes out of service; "": none
	NVMLLibrary     string        // absolute path of libnvidia-ml.so.1; "": the system's
	MaxLoad         int           // percent; a GPU busier than this takes no job
	LoadWindow      time.Duration // of which the mean load counts for that; 0: that of the last sample
	MaxUsed         int           // percent of its memory; a GPU with more in use takes no job
	MinFreeMemory   int64         // bytes; a GPU with less free takes no job
	MaxForeign      int64         // bytes of one process of no job, on a GPU that is given whole; 0: any, see maxForeign
	CPUAffinity     bool          // whether jobs with GPUs run on the CPUs near them
}

// Daemon is the daemon itself.
type Daemon struct {
	LogLevel       slog.Level
	StartsInFlight int    // units being started at once
	AdminGroup     string // members may act on all jobs and on GPUs
	HostMemReserve Share  // host memory that is never promised to jobs
}

// SlurmGPUs is what becomes of GPUs that a Slurm of this machine gives away.
type SlurmGPUs string

// The choices.
const (
	SlurmExclude SlurmGPUs = "exclude"
	SlurmAllow   SlurmGPUs = "allow"
)

// StrayAction is what is done about a process of a job on a GPU that the job does
// not have.
type StrayAction string

// The actions.
const (
	StrayEnd  StrayAction = "end"
	StrayKeep StrayAction = "keep"
	StrayTell StrayAction = "tell"
)

// BadMemory is a state of a GPU's memory; each but never stands for the worse
// ones as well.
type BadMemory string

// The states, the worst first.
const (
	BadMemoryNever   BadMemory = "never"
	BadMemoryFailed  BadMemory = "failed"  // a bad row could not be replaced
	BadMemoryPending BadMemory = "pending" // one waits for a reset to be replaced
)

// FilterMode says what happens where the kernel's device filter is not active.
type FilterMode string

// The filter modes.
const (
	FilterRequire FilterMode = "require" // a job with a GPU fails rather than run without the filter
	FilterPrefer  FilterMode = "prefer"  // it runs, and the daemon is reported as degraded
)

// Default returns the settings of a site without any file.
func Default() Config {
	const maxRunning = 1000
	return Config{
		Jobs: Jobs{
			DefaultMem:       DefaultMem{Kind: MemAuto},
			DefaultGrace:     30 * time.Second,
			MaxGrace:         10 * time.Minute,
			CPUs:             job.Part{Percent: 100},
			DefaultCPUs:      job.Part{Percent: 75},
			TasksMax:         16384,
			MaxRunning:       maxRunning,
			ShareWithoutGPU:  75,
			MaxQueued:        100_000,
			Requeue:          true,
			MaxSuspend:       time.Hour,
			MaxRetries:       10,
			DefaultBackoff:   5 * time.Second,
			DefaultOnTimeout: job.TimeoutKill,
		},
		Scheduling: Scheduling{
			Policy:           OrderFair,
			HalfLife:         7 * day,
			GuardAfter:       7 * day,
			GuardPercent:     50,
			ReservationDepth: 1,
			Slice:            30 * time.Minute,
		},
		Quotas: job.Quotas{Default: job.Quota{
			Running: jobsOf(maxRunning), Mem: job.Part{Percent: 80}, CPUs: job.Part{Percent: 80}, Queued: 20_000, Share: 1,
		}},
		GPUs: GPUs{
			SampleInterval:  5 * time.Second,
			SampleTimeout:   10 * time.Second,
			SmallestPart:    10,
			ExtraDevices:    []string{"/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"},
			DeviceFilter:    FilterRequire,
			CleaningTimeout: 30 * time.Second,
			MemorySlack:     512 << 20,
			MaxLoad:         100,
			MaxUsed:         100,
			MaxForeign:      maxForeign,
			CPUAffinity:     true,
			DrainBadMemory:  BadMemoryFailed,
			Strays:          StrayEnd,
			Slurm:           SlurmExclude,
			KernelLog:       "/dev/kmsg",
		},
		GPUMemory: GPUMemory{Policy: MemoryWarn, Tolerance: 512 << 20, Grace: time.Minute},
		Idle:      Idle{Action: IdleWarn, After: 30 * time.Minute, Grace: 10 * time.Minute},
		Notify:    Notify{Ways: job.NotifyWays(), OtherAddresses: true, OwnURLs: true, WebhookPace: 30 * time.Second},
		Xids:      gpu.DefaultXids(),
		Limits: Limits{
			Requests:     1000,
			Burst:        4000,
			AtOnce:       16,
			Connections:  1024,
			UserConns:    128,
			UserWaits:    96,
			RequestBytes: 8 << 20,
			UserState:    512 << 20,
			UserHistory:  512 << 20,
		},
		Daemon: Daemon{
			LogLevel:       slog.LevelInfo,
			StartsInFlight: 8,
			AdminGroup:     "gpusched-admin",
			HostMemReserve: Share{Percent: 5},
		},
	}
}
