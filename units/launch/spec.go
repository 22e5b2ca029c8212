package launch

import "github.com/gpusched/gpusched/units/contract"

// MaxSpecBytes bounds a spec file. It leaves room above the largest payload
// that a submission may have.
const MaxSpecBytes = 4 << 20

// VisibleUUID makes CUDA_VISIBLE_DEVICES name GPUs by UUID. Any other value
// of Spec.Visible stands for integers.
const VisibleUUID = "uuid"

// Spec is what the launcher needs to know of one attempt of one job. Strings
// are bytes as the submitter sent them, not necessarily UTF-8.
type Spec struct {
	JobID   int64
	Attempt int

	ArrayJob  int64 // the array that the job is a task of; 0: none
	ArrayTask int   // its number there

	contract.Program

	Home, User, Shell string // used where the unit's environment lacks them

	GPUs       []contract.GPU // in the order of their indexes, and only which they are; empty: a job without GPUs
	ShareMilli int            // what the job asked for, in thousandths of a GPU
	GPUMemMiB  int64          // asked for per GPU; 0: nothing was said
	Visible    string         // "index" (or empty) or VisibleUUID

	Screen string // name of the session of GNU screen in which it runs; "": in none

	Aimed []int // signals that only the unit's main process gets: whoever holds a terminal passes them on

	Ignored int // a signal that the command ignores until it sets a handler; 0: none

	Variables []string // K=V, of the scheduler's, after the submitter's

	RequireFilter bool   // do not start without the device filter
	ProbePath     string // a device node that no job is ever allowed

	// SoftLimits are set as the launcher's last act. A limit is never raised above
	// the hard limit that the unit has. AS, DATA and NPROC belong here and not
	// into the unit: the launcher itself can't live under a small one.
	SoftLimits []contract.Limit
}
