package site

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
)

// Policy is the site's decisions, together with facts about its machine.
type Policy struct {
	HostMemBytes   int64         // host memory for all jobs together; 0: not counted
	HostCPUs       int           // CPUs for all jobs together; 0: not counted
	GPUCPUs        int           // the part of HostCPUs that comes with the GPUs, for jobs that name no CPUs
	DefaultTime    time.Duration // 0: no limit
	MaxTime        time.Duration // 0: no limit
	DefaultGrace   time.Duration
	MaxGrace       time.Duration // 0: no limit
	MaxMemBytes    int64         // of one job; 0: no limit
	DefaultRequeue bool

	WebhookInterval  time.Duration     // the time between a user's messages to site webhooks, after the first few; 0: none
	MaxSuspend       time.Duration     // how long an owner may suspend an attempt; 0: no limit
	MaxRetries       int               // the most that a job may ask for
	DefaultRetries   int               // of a job that names none
	DefaultBackoff   time.Duration     // the delay before the first retry of a job that names none
	DefaultOnTimeout job.TimeoutAction // for a job that names none

	CPUAffinity bool // jobs with GPUs run on the CPUs near them
	AllowRaised bool // any user may raise a priority

	// DefaultMem returns the host memory of a job that names none, from its request and the number
	// of GPUs; 0 means no limit. The result must depend only on the arguments. If DefaultMem is
	// nil, such jobs have no limit.
	DefaultMem func(gpuMilli, gpus int) int64

	ClassMaxTime map[job.Class]time.Duration // limits that apply in addition to MaxTime

	// Predict, if it is not nil, replaces the learned run times. Simulations use it.
	Predict func(job.ID) time.Duration

	Sched  sched.Policy // the order of the queue, and placement
	Quotas job.Quotas

	MaxRunning int // 0: no limit
	NoGPUShare int // percentage of MaxRunning, HostMemBytes and HostCPUs that jobs without a GPU may use; 0: all
	MaxQueued  int
	MaxBytes   int64 // the most that a user's jobs may weigh in all (job.Job.Weight); 0: no limit

	StartsInFlight int // the number of units that may be starting at once; 0: any number

	Prove bool // GPUs are tested with CUDA before their first job, and when a job fails at once

	Xids gpu.XidClasses // what a GPU needs after each error

	DrainPending bool // a GPU takes no job while a bad memory row waits to be replaced
	DrainFailed  bool // a GPU takes no job if a bad row could not be replaced, unless an administrator allows it

	LoadWindow time.Duration // the time over which a GPU's load is averaged; 0: use the last sample's load

	LostAfter time.Duration // when a GPU has been lost for this long, its jobs are ended; 0: never

	Usage UsagePolicy // what to do about jobs that overuse their GPUs or do not use them

	Strays Strays // what to do about processes that jobs leave behind outside their units

	Strangers      Strangers     // what to do about foreign processes on GPUs of others' jobs
	StrangersAfter time.Duration // the time from the message to a user until the process is ended
	FirstUID       int           // the lowest uid of a person's account

	// MaxForeignBytes is the memory that a foreign process may use on a GPU that a job asks for as
	// a whole (gpu.Process.Occupies). If it is 0, such a process may use any amount, and may
	// compute.
	MaxForeignBytes int64

	SmallestPart int   // the smallest part of a GPU that a job may ask for, in thousandths; 0: any
	PartsOn      []int // physical indexes of the GPUs that may be shared; empty: all

	OnlyGPUs        []int // physical indexes that jobs may get; empty: all
	SlurmGPUs       GPUsOfSlurm
	CleaningTimeout time.Duration
	MemSlackBytes   int64         // GPU memory that may stay in use after a job without making the GPU unclean
	StaleAfter      time.Duration // an older sample says nothing about the present
	FreshFor        time.Duration // memory can be promised only on the basis of a younger sample
}

// GPUsOfSlurm are the GPUs that a Slurm on this machine assigns. gpusched places no job on them.
type GPUsOfSlurm struct {
	Every  bool
	Minors []int // minor numbers, as in /dev/nvidia<minor>
}

// Equal reports whether g and o are the same GPUs.
func (g GPUsOfSlurm) Equal(o GPUsOfSlurm) bool {
	return g.Every == o.Every && slices.Equal(g.Minors, o.Minors)
}

// Has reports whether the GPU is one of Slurm's.
func (g *GPUsOfSlurm) Has(minor int) bool { return g.Every || slices.Contains(g.Minors, minor) }

// Strays is what the site does about the stray processes of ended jobs.
type Strays int

// These are the choices of a site.
const (
	EndStrays  Strays = iota // they get SIGTERM, then SIGKILL
	KeepStrays               // they keep their GPU out of service
	TellStrays               // they count as foreign processes on the GPU
)

// Strangers is what the site does about foreign processes on GPUs of others' jobs.
type Strangers int

// These are the choices of a site.
const (
	ShowStrangers Strangers = iota // they are only shown
	TellStrangers                  // their users are told
	EndStrangers                   // their users are told, and later they get SIGTERM, then SIGKILL
)

// IsPerson reports whether a uid may belong to a person. The uids from 61184 to 65535 are those of
// services that systemd starts (DynamicUser=) and of nobody.
func (p *Policy) IsPerson(uid int) bool {
	return uid > 0 && uid >= p.FirstUID && (uid < 61184 || uid > 65535)
}

// Response is what the site does about a job that breaks a rule.
type Response int

// The responses; WarnAndStop first warns.
const (
	Ignore Response = iota
	Warn
	WarnAndStop
)

// UsagePolicy is what the site does about jobs that use more GPU memory than they were promised, or
// do not use a GPU that they hold.
type UsagePolicy struct {
	Memory      Response
	Tolerance   int64         // bytes above the budget that do not count as exceeding it
	MemoryGrace time.Duration // observed time over budget between the warning and a stop

	Idle      Response
	IdleAfter time.Duration // observed idle time before the warning
	IdleGrace time.Duration // further idle time between the warning and a stop
}

// Grace returns the time until a stop as a warning states it; negative: no stop.
func (r Response) Grace(d time.Duration) time.Duration {
	if r == WarnAndStop {
		return d
	}
	return -1
}

// Breaks reports whether a stop would contradict the earlier warning: the warning announced no
// stop, or a later one, and the settings have changed since.
func (r Response) Breaks(told, d time.Duration) bool {
	return r == WarnAndStop && (told < 0 || told > d)
}
