package gpus

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
)

// Sample is a numbered sample of the GPUs. The field Jobs has the job of each process, by pid. If a
// process is only in a slice for a single job, the field Claims has what the slice's name says. The
// field Persons maps the uids of containers to the persons to whom these uids belong. If the
// snapshot has a Problem, nothing is known.
type Sample struct {
	Number  uint64
	Snap    gpu.Snapshot
	Driver  gpu.DriverVersions // those versions of the driver that are known
	HasCUDA bool               // libcuda.so.1 is installed
	Jobs    map[int]job.ID
	Claims  map[int]Claim
	Persons map[int]Person
}

// Claim is what the name of a slice says: that the processes in the slice belong to this job of
// this user. Whoever may use Docker can name any slice, so a claim counts only if it fits the job:
// see jobOf.
type Claim struct {
	UID int
	Job job.ID
}

// jobOf returns the job to which a process belongs by its control group.
func (e *Sample) jobOf(pid int, jobs *tracked.Book) (id job.ID, ok bool) {
	if id, ok = e.Jobs[pid]; ok {
		return id, true
	}
	c, ok := e.Claims[pid]
	if !ok {
		return 0, false
	}
	l := jobs.Active(c.Job)
	return c.Job, l != nil && l.Owner.UID == c.UID && l.Request.ContainerEngine == contract.Docker
}

// Person is the user to whom a uid belongs. Unsure means that the uid may instead belong to another
// account, because that could not be determined yet.
type Person struct {
	UID    int
	Unsure bool
}

// ErrorReport is an error report of the driver. The reports of a boot arrive in order. After each
// restart of the daemon, all reports of the boot arrive again.
type ErrorReport struct {
	Xid  gpu.Xid
	Job  job.ID // the job whose process the error hit, by control group; 0: unknown
	Boot string
	Seq  uint64    // the number of the report's line in the kernel's log
	At   time.Time // when the line was written
}

// clockTick is the resolution of the start times that the kernel reports. A process may have begun
// later than the kernel says, by up to this much.
const clockTick = 10 * time.Millisecond

// quickLook is the usual duration of a sample. A process may have begun later than it seems, by up
// to this much.
const quickLook = 100 * time.Millisecond

// beginSpan returns the span of time in which a process of the sample began. It is not a moment,
// because a sample can take seconds, and nobody knows when in these seconds the process's age was
// read.
func (e *Sample) beginSpan(p *gpu.Process, now time.Time) tracked.Interval {
	return tracked.Interval{From: e.beginTime(now).Add(-p.Age), To: now.Add(-p.Age + clockTick)}
}

// beginTime returns when the sample began, by the core's clock.
func (e *Sample) beginTime(now time.Time) time.Time {
	if e.Snap.TakenUnixNano == 0 {
		return now
	}
	return now.Add(-max(0, now.Round(0).Sub(time.Unix(0, e.Snap.TakenUnixNano))))
}
