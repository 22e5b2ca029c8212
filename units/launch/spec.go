package launch

import "github.com/gpusched/gpusched/units/contract"

// MaxSpecBytes is the maximum size of a spec file. It exceeds the largest payload of a submission.
const MaxSpecBytes = 4 << 20

// VisibleUUID makes CUDA_VISIBLE_DEVICES name GPUs by UUID. Any other value of Spec.Visible means
// integers.
const VisibleUUID = "uuid"

// Spec is what the launcher must know about one attempt of one job. Strings are bytes as the
// submitter sent them, not necessarily UTF-8.
type Spec struct {
	JobID   int64
	Attempt int

	ArrayJob  int64 // the array that the job is a task of; 0: none
	ArrayTask int   // the job's index in that array

	contract.Program

	Home, User, Shell string // used if the unit's environment lacks them

	GPUs       []contract.GPU // in the order of their indexes; empty: a job without GPUs
	ShareMilli int            // requested, in thousandths of a GPU
	GPUMemMiB  int64          // requested per GPU; 0: not requested
	Visible    string         // "index" (or empty) or VisibleUUID

	Scratch string // the attempt's scratch directory, which the launcher makes; "": none

	Screen string // name of the job's GNU screen session; "": none

	Aimed []int // signals that only the unit's main process gets, and that the process of a terminal passes on

	Ignored int // signal that the command ignores until it sets a handler; 0: none

	Variables []string // K=V, set by the scheduler after the submitter's variables

	RequireFilter bool   // do not start without the device filter
	ProbePath     string // a device node that no job may open

	// SoftLimits are set last. None exceeds the hard limit of the unit. AS, DATA and NPROC must be
	// set here and not in the unit, because the launcher can't run if one of these is small.
	SoftLimits []contract.Limit
}
