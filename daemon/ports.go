package daemon

import (
	"context"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/launch"
)

// Store keeps the state that must survive a restart.
type Store interface {
	// Commit writes all records in one transaction, or none. If Commit or another method returns
	// job.ErrDamaged, the daemon ends and is restarted with a new file. After job.ErrInvalid the
	// daemon also ends, and is restarted with the state on record.
	Commit(ctx context.Context, records []job.Record) error
	// Payload returns a job's private part. The error is job.ErrNoPayload if the payload is lost.
	Payload(ctx context.Context, id job.ID) (job.Payload, error)
	// Jobs returns the jobs with these ids, in any order. Unknown ids are left out.
	Jobs(ctx context.Context, ids []job.ID) ([]job.Job, error)
	// Attempts returns all attempts of a job, from the first to the current one.
	Attempts(ctx context.Context, id job.ID) ([]job.Attempt, error)
	// Notifications returns the messages about a job.
	Notifications(ctx context.Context, id job.ID) ([]job.Notification, error)
	// Directories returns the first directories of jobs to be removed, in the order of their times, at
	// most n in all and two of each user.
	Directories(ctx context.Context, n int) ([]job.Directory, error)
	// Ended returns ended jobs, newest first, at most q.Ended of them.
	Ended(ctx context.Context, q job.Query) ([]job.Job, error)
	// Lately counts an account's jobs that ended at the given time or later.
	Lately(ctx context.Context, uid int, since time.Time) (job.Lately, error)
	// Past returns a part of the ended jobs, and where the next part begins.
	Past(ctx context.Context, q job.PastQuery) (job.Past, error)
	// Runs calls f for each attempt in the time of the query.
	Runs(ctx context.Context, q job.RunQuery, f func(*job.Run) error) error
	// Ends returns how these jobs ended. Jobs that have not ended are left out.
	Ends(ctx context.Context, ids []job.ID) (map[job.ID]job.End, error)
	// Task returns the id of the job that a task of an array became, 0 if there is none.
	Task(ctx context.Context, array job.ID, index int) (job.ID, error)
	// Results returns the results of the ended tasks of an array.
	Results(ctx context.Context, array job.ID) (job.Results, error)
	// ByKey returns the job that a user submitted with a request key.
	ByKey(ctx context.Context, uid int, key string) (job.ID, bool, error)
}

// Units is the part of systemd that runs the units of jobs.
type Units interface {
	Start(ctx context.Context, name string, props []units.Property) (units.Status, error)
	Stop(ctx context.Context, name string) error
	Kill(ctx context.Context, name string, signal int, whom units.Whom) error
	Freeze(ctx context.Context, name string, on bool) error
	SetMemory(ctx context.Context, name string, limit, high int64) error
	Status(ctx context.Context, name string) (units.Status, error)
	List(ctx context.Context) ([]units.Status, error)
}

// Changes passes each signal of systemd about a unit to a function, in order, until ctx is done.
type Changes func(ctx context.Context, report func(units.Change))

// Persons returns the person behind a uid, and whether the answer is certain.
type Persons func(uid int) (person int, certain bool)

// System asks systemd about its own state.
type System func(ctx context.Context) (units.System, error)

// ChangesOf returns the changes that a channel delivers.
func ChangesOf(ch <-chan units.Change) Changes {
	return func(ctx context.Context, tell func(units.Change)) {
		for {
			select {
			case <-ctx.Done():
				return
			case c, open := <-ch:
				if !open {
					return
				}
				tell(c)
			}
		}
	}
}

// Source reads the GPUs. Sample reads everything. Look omits the energy, which takes longest to
// read. An error means that the source could not be asked at all.
type Source interface {
	Sample(ctx context.Context) (gpu.Snapshot, error)
	Look(ctx context.Context) (gpu.Snapshot, error)
}

// Kernel reads the driver's error reports from the kernel's log.
// It first reports all errors of this boot, in order, and then each new error, until ctx is done.
type Kernel interface {
	Run(ctx context.Context, tell func(gpu.XidReport))
}

// Specs stores the launchers' private instructions, in one file per attempt. A start that a dead
// daemon requested may come late. It must not find the instructions of the next attempt.
type Specs interface {
	Write(id job.ID, uid int, s *launch.Spec) (path string, err error)
	Remove(id job.ID, attempt int) error
	// Sweep removes all specs for which keep returns false.
	Sweep(keep func(id job.ID, attempt int) bool) error

	// Keep stores data about an attempt next to its spec. The data restores decisions about the job
	// if the state file is lost. Remove removes the data together with the spec. Kept returns the
	// data that Keep stored last, or nil.
	Keep(id job.ID, attempt int, data []byte) error
	Kept(id job.ID, attempt int) ([]byte, error)
	SweepKept(wanted func(id job.ID, attempt int) bool) error
}

// Meter reads the peak of the host memory, in bytes, and the CPU time of a unit's control group. It
// returns false if nothing is known.
type Meter func(controlGroup string) (job.HostUse, bool)

// NameToday returns the present name of the account with this uid. If the given earlier name is
// still one of the account's names, NameToday returns the earlier name. If no account has the uid,
// it returns "". It waits for the directory service unless the host's files or a very recent answer
// have the name. The error says why the name is unknown.
type NameToday func(uid int, was string, wait time.Duration) (string, error)

// QuotaGroups returns the groups with a quota that an account belongs to now. If a membership can't
// be looked up, the groups of the account's last job count. If the argument wait is false,
// QuotaGroups uses only answers that are already known.
type QuotaGroups func(uid int, had job.GIDs, wait bool) []string

// MemUsed reads the host memory, in bytes, that the processes in a control group use and can't give
// back. It returns 0 if that is unknown.
type MemUsed func(controlGroup string) int64

// Inside lists the processes in a control group, or returns nil if they are unknown.
type Inside func(controlGroup string) []cgroup.Process

// EndProcess sends a signal to a process, unless its pid now belongs to another process.
type EndProcess func(core.EndProcess) error

// Origin returns the properties from which a unit was made. It is used when no record says which
// job the unit belongs to. The error is units.ErrAbsent if there is no such unit.
type Origin func(ctx context.Context, name string) (units.Origin, error)

// Tell writes a note into the journal of a running job. The job's owner, who has this uid, can read
// the note there. Tell returns at the latest when ctx is done.
type Tell func(ctx context.Context, id job.ID, uid int, text string) error

// Open starts a process in the unit of a running job.
// The process runs commands for the job's owner, who has this uid.
type Open func(ctx context.Context, id job.ID, uid int) error

// RemoveDirectory removes a directory with everything in it, as its user. A directory that is missing
// has been removed.
type RemoveDirectory func(ctx context.Context, d *job.Directory) error

// MakeScratch makes, as root, the directory in which a user makes scratch directories of jobs.
type MakeScratch func(ctx context.Context, site string, uid int) error

// Deliver sends a message about a job, given the job's record. The argument address is the address
// or URL that the owner chose; "" means none. If sending fails, Deliver returns the reason, and
// whether another try may succeed. Deliver returns at the latest when ctx is done.
type Deliver func(ctx context.Context, n job.Notification, j *job.Job, address string) (why job.Message, again bool)

// TellUser writes a line on the terminals of a user. If gpusched-notify refuses, for example
// because the user has no open terminal, the error says so. TellUser returns at the latest when ctx
// is done.
type TellUser func(ctx context.Context, uid int, text string) error

// Notify reports the daemon's state to systemd.
type Notify interface {
	Ready()
	Stopping()
	Alive()
	Status(text string)
}
