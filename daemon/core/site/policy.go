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
	MemReturn      MemReturn // of jobs that named no host memory
	Park           ParkPolicy

	WebhookInterval  time.Duration     // the time between a user's messages to site webhooks, after the first few; 0: none
	MaxSuspend       time.Duration     // how long an owner may suspend an attempt; 0: no limit
	MaxRetries       int               // the most retries that a job may ask for
	DefaultRetries   int               // for a job that names no retries
	DefaultBackoff   time.Duration     // the delay before the first retry of a job that names no delay
	DefaultOnTimeout job.TimeoutAction // for a job that does not say what to do at its limit

	CPUAffinity bool          // jobs with GPUs run on the CPUs near their GPUs
	Hints       bool          // frameworks in jobs with a part of a GPU are told that part (job.Allocation.HintMilli)
	Scratch     string        // the site's directory for the scratch directories of jobs; "": none
	ScratchKeep time.Duration // how long that of a job that failed is kept

	AllowRaised bool // any user may raise a priority

	// DefaultMem returns the host memory of a job that does not name any, from the GPUs that the
	// job asks for and the number of GPUs in the machine; 0 means no limit. The result must depend
	// only on the arguments. If DefaultMem is nil, such jobs have no limit.
	DefaultMem func(gpuMilli, gpus int) int64

	ClassMaxTime map[job.Class]time.Duration // limits that apply in addition to MaxTime

	// Predict, if it is not nil, replaces the learned run times. Simulations use it.
	Predict func(job.ID) time.Duration

	Sched  sched.Policy // the order of the queue, and the rules of placement
	Quotas job.Quotas

	Lanes map[string]int // the site's lanes: how many jobs may run at once in each

	MaxRunning int // 0: no limit
	NoGPUShare int // percentage of MaxRunning, HostMemBytes and HostCPUs that jobs without a GPU may use; 0: all
	MaxQueued  int
	MaxBytes   int64 // the largest total weight of a user's jobs (job.Job.Weight); 0: no limit

	StartsInFlight int // how many units may be starting at once; 0: any number

	Prove bool // GPUs are tested with CUDA before their first job, and when a job fails at once

	Xids gpu.XidClasses // what a GPU needs after each error

	DrainPending bool // a GPU takes no job while a bad memory row waits to be replaced
	DrainFailed  bool // a GPU whose bad row could not be replaced takes no job, unless an administrator allows it

	LoadWindow time.Duration // the time over which a GPU's load is averaged; 0: use the last sample's load

	LostAfter time.Duration // when a GPU has been lost for this long, its jobs are ended; 0: never

	Usage UsagePolicy // what to do about jobs that overuse their GPUs or do not use them

	Strays Strays // what to do about processes that jobs leave behind outside their units

	Strangers      Strangers     // what to do about foreign processes on GPUs of others' jobs
	StrangersAfter time.Duration // the time from the message to a user until the process is ended
	FirstUID       int           // the lowest uid of a person's account

	// MaxForeignBytes is the memory that a foreign process may use on a GPU that a job asks for as
	// a whole (gpu.Process.Occupies). If it is 0, foreign processes may use any amount, and may
	// compute.
	MaxForeignBytes int64

	SmallestPart int   // the smallest part of a GPU that a job may ask for, in thousandths; 0: any
	PartsOn      []int // physical indexes of the GPUs that may be shared; empty: all

	OnlyGPUs        []int // physical indexes of the GPUs that jobs may get; empty: all
	SlurmGPUs       GPUsOfSlurm
	CleaningTimeout time.Duration
	MemSlackBytes   int64         // GPU memory that may stay in use after a job without making the GPU unclean
	StaleAfter      time.Duration // a sample older than this says nothing about the present
	FreshFor        time.Duration // memory is promised only if the last sample is younger than this
}

// ParkPolicy says which jobs the site parks.
type ParkPolicy struct {
	Allow    bool  // jobs may be parked
	Preempt  bool  // a job that is to make room for another is parked, instead of being stopped, if it can be
	MaxBytes int64 // host memory for the copies of all parked jobs; 0: no limit
}

// MemReturn says how much of its host memory a job keeps that has run for the time After: its peak
// use and a margin of Percent. If Percent is 0, a job keeps all of its memory.
type MemReturn struct {
	Percent int
	After   time.Duration
}

// GPUsOfSlurm names the GPUs that a Slurm on this machine assigns. gpusched places no job on these.
type GPUsOfSlurm struct {
	Every  bool
	Minors []int // minor numbers, as in /dev/nvidia<minor>
}

// Equal reports whether g and o are the same GPUs.
func (g GPUsOfSlurm) Equal(o GPUsOfSlurm) bool {
	return g.Every == o.Every && slices.Equal(g.Minors, o.Minors)
}

// Has reports whether Slurm assigns the GPU with this minor number.
func (g *GPUsOfSlurm) Has(minor int) bool { return g.Every || slices.Contains(g.Minors, minor) }

// Strays says what the site does about the stray processes of ended jobs.
type Strays int

// A site chooses one of these.
const (
	EndStrays  Strays = iota // they get SIGTERM, then SIGKILL
	KeepStrays               // they keep their GPU out of service
	TellStrays               // they count as foreign processes on the GPU
)

// Strangers says what the site does about foreign processes on GPUs of others' jobs.
type Strangers int

// A site chooses one of these.
const (
	ShowStrangers Strangers = iota // they are only shown
	TellStrangers                  // their users get a message
	EndStrangers                   // their users get a message; later the processes get SIGTERM, then SIGKILL
)

// IsPerson reports whether a uid may belong to a person. The uids from 61184 to 65535 belong to the
// account nobody and to services for which systemd makes an account (DynamicUser=).
func (p *Policy) IsPerson(uid int) bool {
	return uid > 0 && uid >= p.FirstUID && (uid < 61184 || uid > 65535)
}

// Response says what the site does about a job that breaks a rule.
type Response int

// A site chooses one of these. With WarnAndStop and WarnAndPark, the warning comes first.
const (
	Ignore Response = iota
	Warn
	WarnAndStop
	WarnAndPark // of idle jobs
)

// UsagePolicy says what the site does about jobs that use more GPU memory than was promised to
// them, or that do not use a GPU that they hold.
type UsagePolicy struct {
	Memory      Response
	Tolerance   int64         // exceeding the budget by up to this many bytes does not count
	MemoryGrace time.Duration // observed time over budget from the warning to a stop

	Idle      Response
	IdleAfter time.Duration // observed idle time before the warning
	IdleGrace time.Duration // further idle time from the warning to a stop
}

// Grace returns the time until the job is stopped or parked, as a warning states it. A negative
// result means that nothing follows.
func (r Response) Grace(d time.Duration) time.Duration {
	if r == WarnAndStop || r == WarnAndPark {
		return d
	}
	return -1
}

// Breaks reports whether stopping or parking the job would contradict the warning that it got before
// the settings changed: the warning announced neither, or a later time.
func (r Response) Breaks(told, d time.Duration) bool {
	return (r == WarnAndStop || r == WarnAndPark) && (told < 0 || told > d)
}
