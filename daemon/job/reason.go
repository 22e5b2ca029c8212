package job

// ReasonCode is one cause of waiting, from a closed list.
type ReasonCode string

// The reasons. Those that concern one GPU carry its index; the others carry
// NoGPU.
const (
	ReasonGPUBusy     ReasonCode = "gpu-busy"      // other jobs hold it, as many as Have; Job and Others are the first of them
	ReasonGPUMemory   ReasonCode = "gpu-memory"    // Need bytes per GPU, Have really free; Detail says what is not known of it
	ReasonGPUPaused   ReasonCode = "gpu-paused"    // an administrator paused it; Detail says why
	ReasonGPUUnknown  ReasonCode = "gpu-unknown"   // no fresh word from the driver
	ReasonGPULost     ReasonCode = "gpu-lost"      // the driver says that it is gone or broken
	ReasonGPUSick     ReasonCode = "gpu-sick"      // out of service since an error; Detail says which and what it needs
	ReasonGPUCleaning ReasonCode = "gpu-cleaning"  // Job left it a moment ago, it is being checked
	ReasonGPUSuspect  ReasonCode = "gpu-suspect"   // something of Job is still there, or jobs fail on it (Detail)
	ReasonGPUExcluded ReasonCode = "gpu-excluded"  // not among --gpu-ids or --gpus-from, or among --exclude-gpus
	ReasonGPUNoParts  ReasonCode = "gpu-no-parts"  // the site gives it as a whole alone, and a part is asked
	ReasonGPUType     ReasonCode = "gpu-type"      // not of --gpu-type; Detail is its model
	ReasonGPUFree     ReasonCode = "gpu-free"      // this one would do; more are needed
	ReasonGPUCount    ReasonCode = "gpu-count"     // Need GPUs at once, Have are available now
	ReasonHostMemory  ReasonCode = "host-memory"   // Need bytes, Have not promised to running jobs; Detail says who has most
	ReasonHostCPUs    ReasonCode = "host-cpus"     // Need CPUs, Have not promised to running jobs; Detail says who has most
	ReasonMaxRunning  ReasonCode = "max-running"   // the site's limit of running jobs, Need = the limit; Detail says who has most
	ReasonNoGPUJobs   ReasonCode = "no-gpu-jobs"   // jobs without a GPU run in all Need places that they have; Detail says who has most
	ReasonNoGPUMemory ReasonCode = "no-gpu-memory" // Need bytes, jobs without a GPU have Have left of theirs; Detail as above
	ReasonNoGPUCPUs   ReasonCode = "no-gpu-cpus"   // Need CPUs, as above
	ReasonNoSample    ReasonCode = "starting-up"   // the daemon has not seen the GPUs yet
	ReasonChecking    ReasonCode = "checking"      // its GPUs look free, a fresh sample is to confirm it

	ReasonGPUShare    ReasonCode = "gpu-share"    // Need milli of the GPU, Have free
	ReasonGPUDrained  ReasonCode = "gpu-drained"  // an administrator takes it out of service; Detail says why
	ReasonGPULoad     ReasonCode = "gpu-load"     // busy to Have percent, Need allowed
	ReasonGPUUsed     ReasonCode = "gpu-used"     // Have percent of its memory in use, Need allowed
	ReasonGPUForeign  ReasonCode = "gpu-foreign"  // Foreign, or unlisted processes with Have bytes, use what is asked as a whole
	ReasonGPUKept     ReasonCode = "gpu-kept"     // kept for Job, which is before this one
	ReasonGPUReserved ReasonCode = "gpu-reserved" // reserved by an administrator; Detail says for whom and when

	ReasonTooMuch    ReasonCode = "too-much"       // it asks more than it can have; Detail says what
	ReasonDrained    ReasonCode = "drained"        // an administrator lets no job start; Detail says who, why and until when
	ReasonStarts     ReasonCode = "starts"         // they fail for a reason of the machine, as Detail says
	ReasonHeld       ReasonCode = "held"           // Detail says by whom
	ReasonDependency ReasonCode = "dependency"     // Job has to do what Detail says first
	ReasonBegin      ReasonCode = "begin-time"     // not before Detail
	ReasonBackoff    ReasonCode = "back-off"       // after a failure, or Need starts in a row that failed, not before Detail
	ReasonArrayLimit ReasonCode = "array-limit"    // Need tasks of its array run, its limit
	ReasonFailures   ReasonCode = "array-failures" // Have tasks of the array have failed, and Need are its limit
	ReasonQuotaGPUs  ReasonCode = "quota-gpus"     // Need milli-GPUs, Have left by a quota; Detail says of whose
	ReasonQuotaJobs  ReasonCode = "quota-jobs"     // Detail runs Need jobs, the quota
	ReasonQuotaMem   ReasonCode = "quota-mem"      // Need bytes of host memory, as above
	ReasonQuotaCPUs  ReasonCode = "quota-cpus"     // Need CPUs, as above
	ReasonQuotaKept  ReasonCode = "quota-kept"     // the quota of Detail is kept for Job, which is before this one
	ReasonQuotaHours ReasonCode = "quota-hours"    // Detail has used Have GPU-hours of Need
	ReasonAccount    ReasonCode = "account"        // its user can run nothing; Detail says why
	ReasonTurn       ReasonCode = "start-turn"     // it has what it asked for, and is begun when starts before it are over
	ReasonGone       ReasonCode = "account-gone"   // another account has its user's number; Detail says which
)

// NoGPU is the GPU of a reason that concerns the whole machine.
const NoGPU = -1

// Reason is one cause for which a job waits.
type Reason struct {
	Code   ReasonCode `json:"code"`
	GPU    int        `json:"gpu"` // physical index, or NoGPU
	Job    ID         `json:"job,omitempty"`
	Others []ID       `json:"others,omitempty"` // beside Job
	Names  []string   `json:"names,omitempty"`  // what people call Job and then Others; nil: by their ids
	Need   int64      `json:"need,omitempty"`
	Have   int64      `json:"have,omitempty"`
	Detail Message    `json:"detail,omitzero"`

	Endless Message `json:"endless,omitzero"` // of Job or Others: why nobody can tell when that one ends

	Foreign []Foreign `json:"foreign,omitempty"` // who has memory of the GPU without a job, the most first
}

// Foreign is a process of no job that is on a GPU.
type Foreign struct {
	PID   int    `json:"pid"`
	UID   int    `json:"uid"`            // -1: unknown
	User  string `json:"user,omitempty"` // "" unknown
	Bytes int64  `json:"bytes"`          // -1: unknown
}

// MaxForeign is how many processes of no job a reason names.
const MaxForeign = 3

// MaxHolders is how many of the jobs on a GPU a reason names.
const MaxHolders = 3
