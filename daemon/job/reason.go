package job

// ReasonCode is a kind of reason for waiting.
type ReasonCode string

// The reasons. A reason about one GPU has the GPU's index; all others have NoGPU. The comments say
// what the fields of the Reason mean: Job, Others, Need, Have, Detail and Foreign.
const (
	ReasonGPUBusy     ReasonCode = "gpu-busy"      // Have: number of jobs on the GPU; Job, Others: the first of them
	ReasonGPUMPS      ReasonCode = "gpu-mps"       // the jobs on the GPU use MPS; Have, Job, Others: as for gpu-busy
	ReasonGPUMemory   ReasonCode = "gpu-memory"    // Need, Have: needed and free bytes per GPU; Detail: what is unknown
	ReasonGPUPaused   ReasonCode = "gpu-paused"    // an administrator paused the GPU; Detail says why
	ReasonGPUUnknown  ReasonCode = "gpu-unknown"   // the driver has not answered recently
	ReasonGPULost     ReasonCode = "gpu-lost"      // the driver says that the GPU is gone or broken
	ReasonGPUSick     ReasonCode = "gpu-sick"      // the GPU is out of service since an error; Detail is the error
	ReasonGPUCleaning ReasonCode = "gpu-cleaning"  // Job left the GPU a moment ago, and the GPU is being checked
	ReasonGPUSuspect  ReasonCode = "gpu-suspect"   // something of Job is still on the GPU, or jobs fail on it (Detail)
	ReasonGPUExcluded ReasonCode = "gpu-excluded"  // excluded by --gpu-ids, --gpus-from or --exclude-gpus
	ReasonGPUNoParts  ReasonCode = "gpu-no-parts"  // the site does not share the GPU, and the job asks for a part
	ReasonGPUType     ReasonCode = "gpu-type"      // the GPU is not of --gpu-type; Detail is its model
	ReasonGPUFree     ReasonCode = "gpu-free"      // the GPU would do, but the job needs more GPUs
	ReasonGPUCount    ReasonCode = "gpu-count"     // Need: GPUs needed at once; Have: GPUs available now
	ReasonHostMemory  ReasonCode = "host-memory"   // Need: bytes; Have: bytes not promised; Detail: the largest user
	ReasonHostCPUs    ReasonCode = "host-cpus"     // Need: CPUs; Have: CPUs not promised; Detail: the largest user
	ReasonMaxRunning  ReasonCode = "max-running"   // Need: running jobs, which is the limit; Detail: the largest user
	ReasonNoGPUJobs   ReasonCode = "no-gpu-jobs"   // Need: places, all with jobs without a GPU; Detail: the largest user
	ReasonNoGPUMemory ReasonCode = "no-gpu-memory" // for jobs without a GPU; Need: bytes; Have: bytes left; Detail: same
	ReasonNoGPUCPUs   ReasonCode = "no-gpu-cpus"   // for jobs without a GPU; Need: CPUs; Have: CPUs left; Detail: same
	ReasonNoSample    ReasonCode = "starting-up"   // the daemon has not seen the GPUs yet
	ReasonChecking    ReasonCode = "checking"      // its GPUs look free, but the next sample must confirm that

	ReasonGPUShare    ReasonCode = "gpu-share"    // Need, Have: needed and free milli-GPUs of the GPU
	ReasonGPUDrained  ReasonCode = "gpu-drained"  // an administrator drained the GPU; Detail says why
	ReasonGPULoad     ReasonCode = "gpu-load"     // Have: the GPU's load in percent; Need: the load that the job allows
	ReasonGPUUsed     ReasonCode = "gpu-used"     // Have: percentage of its memory in use; Need: the most allowed
	ReasonGPUForeign  ReasonCode = "gpu-foreign"  // the job wants it whole; Have: bytes of Foreign or unlisted processes
	ReasonGPUKept     ReasonCode = "gpu-kept"     // the GPU is kept for Job, which goes before this job
	ReasonGPUReserved ReasonCode = "gpu-reserved" // an administrator reserved the GPU; Detail says for whom and when

	ReasonTooMuch    ReasonCode = "too-much"         // the job asks for more than it can have; Detail says what
	ReasonDrained    ReasonCode = "drained"          // an administrator stopped all starts; Detail says who, why, how long
	ReasonShutdown   ReasonCode = "planned-shutdown" // the job may still run at a planned shutdown; Detail says when and why
	ReasonStarts     ReasonCode = "starts"           // the machine makes starts fail; Detail is the cause
	ReasonHeld       ReasonCode = "held"             // the job is held; Detail says by whom
	ReasonDependency ReasonCode = "dependency"       // the job waits for an event of Job; Detail says which
	ReasonBegin      ReasonCode = "begin-time"       // the job may not start before the time in Detail
	ReasonBackoff    ReasonCode = "back-off"         // Need: failed starts in a row; 0: the job failed; Detail: next try
	ReasonArrayLimit ReasonCode = "array-limit"      // Need: running tasks of its array, which is the limit
	ReasonLane       ReasonCode = "lane"             // Need: limit; Have: the user's jobs in the lane of Detail: Job, Others
	ReasonSiteLane   ReasonCode = "site-lane"        // Need: limit; Have: jobs in the lane of Detail: Job, Others
	ReasonLaneKept   ReasonCode = "lane-kept"        // Job has the next place in a lane of the job
	ReasonFailures   ReasonCode = "array-failures"   // Have: failed tasks of the array; Need: the limit
	ReasonQuotaGPUs  ReasonCode = "quota-gpus"       // Need: milli-GPUs; Have: milli-GPUs left in the quota of Detail
	ReasonQuotaJobs  ReasonCode = "quota-jobs"       // Need: running jobs of Detail, which is the quota
	ReasonQuotaMem   ReasonCode = "quota-mem"        // Need: bytes of host memory; Have: bytes left in the quota of Detail
	ReasonQuotaCPUs  ReasonCode = "quota-cpus"       // Need: CPUs; Have: CPUs left in the quota of Detail
	ReasonQuotaKept  ReasonCode = "quota-kept"       // the quota of Detail is kept for Job, which goes before this job
	ReasonQuotaHours ReasonCode = "quota-hours"      // Have: GPU-hours that Detail has used; Need: the quota
	ReasonAccount    ReasonCode = "account"          // the job's user can't run anything; Detail says why
	ReasonTurn       ReasonCode = "start-turn"       // the job can start, and only waits for earlier starts to finish
	ReasonGone       ReasonCode = "account-gone"     // another account, Detail, now has the number of the job's user
)

// NoGPU is the GPU index of a reason that is not about one GPU.
const NoGPU = -1

// Reason is one reason why a job waits.
type Reason struct {
	Code   ReasonCode `json:"code"`
	GPU    int        `json:"gpu"` // physical index, or NoGPU
	Job    ID         `json:"job,omitempty"`
	Others []ID       `json:"others,omitempty"` // further jobs, in addition to Job
	Names  []string   `json:"names,omitempty"`  // names for people of Job and of Others, in this order; nil: their ids
	Need   int64      `json:"need,omitempty"`
	Have   int64      `json:"have,omitempty"`
	Detail Message    `json:"detail,omitzero"`

	Endless Message `json:"endless,omitzero"` // why nobody can tell when Job or Others will end

	Foreign []Foreign `json:"foreign,omitempty"` // processes without a job that use the GPU's memory, largest first
}

// Foreign is a process on a GPU that belongs to no job.
type Foreign struct {
	PID   int    `json:"pid"`
	UID   int    `json:"uid"`            // -1: unknown
	User  string `json:"user,omitempty"` // "": unknown
	Bytes int64  `json:"bytes"`          // -1: unknown
}

// MaxForeign is the largest number of foreign processes that a reason names.
const MaxForeign = 3

// MaxHolders is the largest number of jobs on a GPU that a reason names.
const MaxHolders = 3
