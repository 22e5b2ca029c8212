package job

// ReasonCode is a kind of reason for waiting.
type ReasonCode string

// The reasons. A reason about one GPU has its index; all others have NoGPU.
const (
	ReasonGPUBusy     ReasonCode = "gpu-busy"      // Have other jobs are on it; Job and Others are the first of them
	ReasonGPUMemory   ReasonCode = "gpu-memory"    // Need bytes per GPU, Have free; Detail is what is unknown of it
	ReasonGPUPaused   ReasonCode = "gpu-paused"    // an administrator paused it; Detail says why
	ReasonGPUUnknown  ReasonCode = "gpu-unknown"   // the driver has not answered lately
	ReasonGPULost     ReasonCode = "gpu-lost"      // the driver says that it is gone or broken
	ReasonGPUSick     ReasonCode = "gpu-sick"      // out of service since an error; Detail is the error
	ReasonGPUCleaning ReasonCode = "gpu-cleaning"  // Job left it a moment ago, and it is being checked
	ReasonGPUSuspect  ReasonCode = "gpu-suspect"   // something of Job is still there, or jobs fail on it (Detail)
	ReasonGPUExcluded ReasonCode = "gpu-excluded"  // excluded by --gpu-ids, --gpus-from or --exclude-gpus
	ReasonGPUNoParts  ReasonCode = "gpu-no-parts"  // the site does not share it, and the job asks for a part
	ReasonGPUType     ReasonCode = "gpu-type"      // not of --gpu-type; Detail is its model
	ReasonGPUFree     ReasonCode = "gpu-free"      // it would do; more GPUs are needed
	ReasonGPUCount    ReasonCode = "gpu-count"     // Need GPUs at once, Have are available now
	ReasonHostMemory  ReasonCode = "host-memory"   // Need bytes, Have not promised to jobs; Detail is the largest user
	ReasonHostCPUs    ReasonCode = "host-cpus"     // Need CPUs, Have not promised to jobs; Detail is the largest user
	ReasonMaxRunning  ReasonCode = "max-running"   // Need jobs run, the site's limit; Detail is the largest user
	ReasonNoGPUJobs   ReasonCode = "no-gpu-jobs"   // jobs without a GPU take all Need places; Detail is the largest user
	ReasonNoGPUMemory ReasonCode = "no-gpu-memory" // of jobs without a GPU: Need bytes, Have left; Detail as above
	ReasonNoGPUCPUs   ReasonCode = "no-gpu-cpus"   // the same: Need CPUs, Have left; Detail as above
	ReasonNoSample    ReasonCode = "starting-up"   // the daemon has not seen the GPUs yet
	ReasonChecking    ReasonCode = "checking"      // its GPUs look free; the next sample must confirm it

	ReasonGPUShare    ReasonCode = "gpu-share"    // Need milli of the GPU, Have free
	ReasonGPUDrained  ReasonCode = "gpu-drained"  // an administrator drained it; Detail says why
	ReasonGPULoad     ReasonCode = "gpu-load"     // Have percent busy, Need allowed
	ReasonGPUUsed     ReasonCode = "gpu-used"     // Have percent of its memory in use, Need allowed
	ReasonGPUForeign  ReasonCode = "gpu-foreign"  // asked as a whole, and used by Foreign or unlisted processes (Have bytes)
	ReasonGPUKept     ReasonCode = "gpu-kept"     // kept for Job, which goes before this one
	ReasonGPUReserved ReasonCode = "gpu-reserved" // reserved by an administrator; Detail says for whom and when

	ReasonTooMuch    ReasonCode = "too-much"       // it asks for more than it can have; Detail says what
	ReasonDrained    ReasonCode = "drained"        // an administrator stopped all starts; Detail says who, why, how long
	ReasonStarts     ReasonCode = "starts"         // starts fail for a cause of the machine; Detail is the cause
	ReasonHeld       ReasonCode = "held"           // Detail says by whom
	ReasonDependency ReasonCode = "dependency"     // it waits for what Detail says of Job
	ReasonBegin      ReasonCode = "begin-time"     // not before the time in Detail
	ReasonBackoff    ReasonCode = "back-off"       // after a failure, or Need failed starts in a row; not before Detail
	ReasonArrayLimit ReasonCode = "array-limit"    // Need tasks of its array run, which is the limit
	ReasonFailures   ReasonCode = "array-failures" // Have tasks of the array have failed; Need is the limit
	ReasonQuotaGPUs  ReasonCode = "quota-gpus"     // Need milli-GPUs, Have left in the quota of Detail
	ReasonQuotaJobs  ReasonCode = "quota-jobs"     // Detail runs Need jobs, which is the quota
	ReasonQuotaMem   ReasonCode = "quota-mem"      // Need bytes of host memory, as above
	ReasonQuotaCPUs  ReasonCode = "quota-cpus"     // Need CPUs, as above
	ReasonQuotaKept  ReasonCode = "quota-kept"     // the quota of Detail is kept for Job, which goes before this one
	ReasonQuotaHours ReasonCode = "quota-hours"    // Detail has used Have GPU-hours of Need
	ReasonAccount    ReasonCode = "account"        // its user can't run anything; Detail says why
	ReasonTurn       ReasonCode = "start-turn"     // it can start, and waits only for earlier starts to finish
	ReasonGone       ReasonCode = "account-gone"   // another account, Detail, has its user's number
)

// NoGPU is the GPU of a reason that concerns the whole machine.
const NoGPU = -1

// Reason is one cause for which a job waits.
type Reason struct {
	Code   ReasonCode `json:"code"`
	GPU    int        `json:"gpu"` // physical index, or NoGPU
	Job    ID         `json:"job,omitempty"`
	Others []ID       `json:"others,omitempty"` // besides Job
	Names  []string   `json:"names,omitempty"`  // names for people of Job and then Others; nil: their ids
	Need   int64      `json:"need,omitempty"`
	Have   int64      `json:"have,omitempty"`
	Detail Message    `json:"detail,omitzero"`

	Endless Message `json:"endless,omitzero"` // why nobody can tell when Job or Others will end

	Foreign []Foreign `json:"foreign,omitempty"` // processes without a job that use the GPU's memory, the largest first
}

// Foreign is a process on a GPU that belongs to no job.
type Foreign struct {
	PID   int    `json:"pid"`
	UID   int    `json:"uid"`            // -1: unknown
	User  string `json:"user,omitempty"` // "" unknown
	Bytes int64  `json:"bytes"`          // -1: unknown
}

// MaxForeign is the largest number of foreign processes that a reason names.
const MaxForeign = 3

// MaxHolders is the largest number of jobs on a GPU that a reason names.
const MaxHolders = 3
