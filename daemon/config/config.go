package config

import (
	"log/slog"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
)

// The paths of the daemon's settings.
const (
	MainFile  = "/etc/gpusched/gpusched.toml"
	DropInDir = "/etc/gpusched/conf.d"
)

// Config has all settings of the site. The zero Config is not valid: start from Default.
type Config struct {
	Jobs       Jobs
	Classes    map[job.Class]Class // the classes that have a section in a file
	Scheduling Scheduling
	Quotas     job.Quotas
	Lanes      map[string]int // how many jobs run at once in each lane of the site
	GPUs       GPUs
	GPUMemory  GPUMemory
	Idle       Idle
	Park       Park
	Notify     Notify
	Containers Containers
	Xids       gpu.XidClasses // each list is in ascending order
	Limits     Limits
	Metrics    Metrics
	Daemon     Daemon
}

// Snapshots says what the client keeps of a job's code if the job asks for no snapshot.
type Snapshots string

// The values of jobs.snapshot.
const (
	SnapshotOff    Snapshots = "off"
	SnapshotScript Snapshots = "script" // a script, as sbatch keeps it
)

// Jobs has the defaults and limits of what jobs request.
type Jobs struct {
	DefaultMem          DefaultMem    // host memory of a job that requests none
	DefaultTime         time.Duration // time limit of a job that requests none; 0: MaxTime
	MaxTime             time.Duration // the longest time limit; 0: no maximum
	DefaultGrace        time.Duration // time from SIGTERM to SIGKILL for a job that requests no grace
	MaxGrace            time.Duration // the longest grace that a job may request
	MaxMem              int64         // the most host memory of a job; 0: no maximum
	MemReturn           MemReturn     // what a job that requests no host memory lends to others
	AllowedPaths        []string      // places, with patterns, of the programs that jobs may run; empty: everywhere
	CPUs                job.Part      // part of the machine's CPUs that jobs together may request; zero: not counted
	DefaultCPUs         job.Part      // part of the CPUs that counts as taken by a job with all GPUs and without --cpus
	TasksMax            int           // maximum number of processes and threads of one job
	MaxRunning          int           // maximum number of jobs that run at once
	ShareWithoutGPU     int           // percent of MaxRunning and of the host's memory for jobs without a GPU
	MaxQueued           int           // maximum number of jobs that wait at once
	Requeue             bool          // whether a job runs again after a reboot, unless it says otherwise
	MaxSuspend          time.Duration // the longest suspension by a job's owner; 0: no maximum
	MaxRetries          int           // the most retries that a job may request
	DefaultRetries      int           // retries of a job that requests none
	DefaultBackoff      time.Duration // delay of the first retry of a job that requests none
	DefaultOnTimeout    job.TimeoutAction
	Log                 string        // path of the log, with sequences, for a job that names none; "": no log
	AllowRaisedPriority bool          // whether users may request more than priority normal
	Snapshot            Snapshots     // what is kept of the code of each job
	AllowSandboxed      bool          // whether processes in a sandbox may submit
	Scratch             string        // the directory with the scratch directories of jobs; "": there are none
	ScratchKeep         time.Duration // how long a scratch directory is kept after a failure
	FrameworkHints      bool          // whether frameworks are told their job's part of a GPU's memory
}

// MemReturn says that jobs lend host memory after some time. They keep their peak use and Percent of
// it. 0: they lend none.
type MemReturn struct {
	Percent int
	After   time.Duration
}

// Class has the limits of the jobs of one class.
type Class struct {
	MaxTime time.Duration // the longest time limit; 0: only Jobs.MaxTime applies
}

// Scheduling says in which order jobs start.
type Scheduling struct {
	Policy           Order
	HalfLife         time.Duration // the time in which usage decays by half; 0: usage does not count
	GuardAfter       time.Duration // the wait after which a job precedes others of its class and priority number; 0: never
	GuardPercent     int           // percent of the machine for such jobs
	ReservationDepth int           // the number of jobs for which GPUs are kept free
	Slice            time.Duration // time that a preemptible job can run before it may be stopped
	RestartCost      time.Duration // what it costs a preemptible job to go on after a stop
}

// Order says how jobs of one class are ordered.
type Order string

// The orders.
const (
	OrderFair Order = "fair" // fair share and response ratio
	OrderFIFO Order = "fifo" // priority, then submission
)

// GPUs says how GPUs are sampled, shared and checked.
type GPUs struct {
	SampleInterval  time.Duration // time between two samples if nothing else happens
	SampleTimeout   time.Duration // if a sample takes longer, the GPUs are unknown
	Only            []int         // physical indexes of the GPUs that gpusched may use, ascending; empty: all
	Slurm           SlurmGPUs     // what to do with GPUs that Slurm on this machine gives to jobs
	SmallestPart    int           // the smallest part of a GPU that a job may request, in thousandths
	PartsOn         []int         // physical indexes of the GPUs that jobs may use in parts, ascending; empty: all
	ExtraDevices    []string      // absolute paths under /dev that jobs with a GPU may also open
	DeviceFilter    FilterMode
	CleaningTimeout time.Duration // time that cleaning after a job may take before the GPU counts as suspect
	MemorySlack     int64         // number of bytes in use up to which a GPU counts as empty
	Strays          StrayAction   // what to do with a job's processes on GPUs that it does not have
	Strangers       Strangers     // what to do with foreign processes on GPUs of other users' jobs
	StrangersAfter  time.Duration // the time from the message to the user until such a process is ended
	DrainBadMemory  BadMemory     // the state of bad memory at which a GPU takes no more jobs
	KernelLog       string        // absolute path, read like /dev/kmsg; "": driver errors are not read
	CUDATest        bool          // whether GPUs are tested with CUDA
	CheckUnit       string        // template of the unit that is started when such a test found a GPU well; "": none
	AlertUnit       string        // template of the unit that is started when a GPU goes out of service; "": none
	NVMLLibrary     string        // absolute path of libnvidia-ml.so.1; "": the system's
	MaxLoad         int           // percent; a GPU that is busier takes no job
	LoadWindow      time.Duration // the time over which the load is averaged; 0: only the last sample counts
	MaxUsed         int           // percent of a GPU's memory; if more is in use, the GPU takes no job
	MinFreeMemory   int64         // bytes; if less memory is free, a GPU takes no job
	MaxForeign      int64         // bytes of a foreign process that keep whole-GPU jobs off; 0: no limit, see maxForeign
	DriverCheck     bool          // whether GPUs take no job while the loaded driver is not the installed one
	CPUAffinity     bool          // whether jobs with GPUs run on the CPUs near them
}

// Daemon has the settings of the daemon itself.
type Daemon struct {
	LogLevel       slog.Level
	StartsInFlight int    // number of units that are being started at once
	AdminGroup     string // its members may act on all jobs and on GPUs
	HostMemReserve Share  // host memory that jobs never get
	Inhibit        Inhibit
}

// Inhibit says what the machine may not do while jobs run.
type Inhibit string

const (
	InhibitSleep    Inhibit = "sleep"
	InhibitShutdown Inhibit = "shutdown" // the machine may neither shut down nor sleep
	InhibitNone     Inhibit = "none"
)

// SlurmGPUs says what to do with GPUs that Slurm on this machine gives to jobs.
type SlurmGPUs string

const (
	SlurmExclude SlurmGPUs = "exclude"
	SlurmAllow   SlurmGPUs = "allow"
)

// StrayAction says what to do with a stray: a process of a job on a GPU that the job does not have.
type StrayAction string

const (
	StrayEnd  StrayAction = "end"
	StrayKeep StrayAction = "keep"
	StrayTell StrayAction = "tell"
)

// Strangers says what to do with a foreign process on a GPU of another user's job.
type Strangers string

const (
	StrangersShow Strangers = "show"
	StrangersTell Strangers = "tell"
	StrangersEnd  Strangers = "end"
)

// BadMemory is a state of a GPU's memory. As a setting it also means all worse states. The value
// "never" means no state.
type BadMemory string

// The states, worst first.
const (
	BadMemoryNever   BadMemory = "never"
	BadMemoryFailed  BadMemory = "failed"  // a bad row could not be replaced
	BadMemoryPending BadMemory = "pending" // a bad row waits for a reset to be replaced
)

// FilterMode says what happens if the kernel's device filter is not active.
type FilterMode string

const (
	FilterRequire FilterMode = "require" // a job with a GPU fails, and does not run without the filter
	FilterPrefer  FilterMode = "prefer"  // the job runs, and the daemon's health is degraded
)

// Default returns the settings of a site that has no file.
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
			Snapshot:         SnapshotOff,
			FrameworkHints:   true,
			ScratchKeep:      day,
		},
		Scheduling: Scheduling{
			Policy:           OrderFair,
			HalfLife:         7 * day,
			GuardAfter:       7 * day,
			GuardPercent:     50,
			ReservationDepth: 1,
			Slice:            30 * time.Minute,
			RestartCost:      5 * time.Minute,
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
			DriverCheck:     true,
			CUDATest:        true,
			DrainBadMemory:  BadMemoryFailed,
			Strays:          StrayEnd,
			Strangers:       StrangersShow,
			StrangersAfter:  5 * time.Minute,
			Slurm:           SlurmExclude,
			KernelLog:       "/dev/kmsg",
		},
		GPUMemory:  GPUMemory{Policy: MemoryWarn, Tolerance: 512 << 20, Grace: time.Minute},
		Idle:       Idle{Action: IdleWarn, After: 30 * time.Minute, Grace: 10 * time.Minute},
		Park:       Park{MaxMemory: job.Part{Percent: 50}},
		Notify:     Notify{Ways: job.NotifyWays(), OtherAddresses: true, OwnURLs: true, WebhookInterval: 30 * time.Second},
		Containers: Containers{Engines: []contract.Engine{contract.Podman, contract.Apptainer}},
		Xids:       gpu.DefaultXids(),
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
			Inhibit:        InhibitSleep,
		},
	}
}
