package gpus

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// Sample is a look at the GPUs, with a number by which it is asked for. Jobs says which job
// a process id belongs to, Persons whose the uids of processes are that containers run as. A
// snapshot with a Problem means that nothing is known.
type Sample struct {
	Number  uint64
	Snap    gpu.Snapshot
	Jobs    map[int]job.ID
	Persons map[int]Person
}

// Person is whose a uid is. Unsure: the uid may be another account's, that is not known yet.
type Person struct {
	UID    int
	Unsure bool
}

// ErrorReport is one of the driver. Reports of a boot come in order, and all of them again after
// each start.
type ErrorReport struct {
	Xid  gpu.Xid
	Job  job.ID // whose process it hit, by its control group; 0: not known
	Boot string
	Seq  uint64    // of the line in the kernel's log
	At   time.Time // when it was written
}

// clockTick is the unit in which the kernel counts when a process began: it may have begun that much later.
const clockTick = 10 * time.Millisecond

// quickLook is how long a look takes as a rule, so that much earlier than it did a process may seem to have begun.
const quickLook = 100 * time.Millisecond

// began is when a process of the sample began: a look at the GPUs can take seconds,
// and it is not known when within them the age was read.
func (e *Sample) began(p *gpu.Process, now time.Time) tracked.Span {
	return tracked.Span{From: e.taken(now).Add(-p.Age), To: now.Add(-p.Age + clockTick)}
}

// taken is when the look at the GPUs was begun, by the core's clock.
func (e *Sample) taken(now time.Time) time.Time {
	if e.Snap.TakenUnixNano == 0 {
		return now
	}
	return now.Add(-max(0, now.Round(0).Sub(time.Unix(0, e.Snap.TakenUnixNano))))
}
