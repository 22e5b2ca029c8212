package gpus

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// Sample is a numbered sample of the GPUs. Jobs maps process ids to their jobs, Persons the uids of
// containers to the persons they belong to. A snapshot with a Problem means that nothing is known.
type Sample struct {
	Number  uint64
	Snap    gpu.Snapshot
	Driver  gpu.DriverVersions // what is known of them
	Jobs    map[int]job.ID
	Persons map[int]Person
}

// Person is the user that a uid belongs to. Unsure: the uid may be another account's, which is
// unknown yet.
type Person struct {
	UID    int
	Unsure bool
}

// ErrorReport is an error report of the driver. The reports of a boot come in order, and all of
// them again after each restart.
type ErrorReport struct {
	Xid  gpu.Xid
	Job  job.ID // whose process it hit, by its control group; 0: unknown
	Boot string
	Seq  uint64    // of the line in the kernel's log
	At   time.Time // when it was written
}

// clockTick is the resolution of the kernel's start times: a process may have begun that much
// later.
const clockTick = 10 * time.Millisecond

// quickLook is the usual duration of a sample: a process may seem to have begun that much too
// early.
const quickLook = 100 * time.Millisecond

// began returns the span in which a process of the sample began: a sample can take seconds, and it
// is not known when within them the age was read.
func (e *Sample) began(p *gpu.Process, now time.Time) tracked.Interval {
	return tracked.Interval{From: e.taken(now).Add(-p.Age), To: now.Add(-p.Age + clockTick)}
}

// taken returns when the sample began, by the core's clock.
func (e *Sample) taken(now time.Time) time.Time {
	if e.Snap.TakenUnixNano == 0 {
		return now
	}
	return now.Add(-max(0, now.Round(0).Sub(time.Unix(0, e.Snap.TakenUnixNano))))
}
