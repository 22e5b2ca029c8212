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

// Store keeps what must survive a restart.
type Store interface {
	// Commit makes all records durable in one transaction, or none. After job.ErrDamaged, from any
	// method, the daemon ends, to be restarted on a file that works. It also ends after
	// job.ErrInvalid, to continue from what is on record.
	Commit(ctx context.Context, records []job.Record) error
	// Payload returns a job's private part, or job.ErrNoPayload if there will never be one.
	Payload(ctx context.Context, id job.ID) (job.Payload, error)
	// Jobs returns these jobs, in any order. It leaves out unknown ids.
	Jobs(ctx context.Context, ids []job.ID) ([]job.Job, error)
	// Attempts returns all attempts of a job, first to current.
	Attempts(ctx context.Context, id job.ID) ([]job.Attempt, error)
	// Notifications returns the messages about a job.
	Notifications(ctx context.Context, id job.ID) ([]job.Notification, error)
	// Ended returns at most q.Ended jobs that have ended, newest first.
	Ended(ctx context.Context, q job.Query) ([]job.Job, error)
	// Lately counts an account's jobs that ended at a moment or after it.
	Lately(ctx context.Context, uid int, since time.Time) (job.Lately, error)
	// Past returns a part of the ended jobs, and where the next part begins.
	Past(ctx context.Context, q job.PastQuery) (job.Past, error)
	// Runs calls f for every attempt in the time of the query.
	Runs(ctx context.Context, q job.RunQuery, f func(*job.Run) error) error
	// Ends returns how jobs ended. It leaves out those that have not.
	Ends(ctx context.Context, ids []job.ID) (map[job.ID]job.End, error)
	// Task returns the job that a task of an array became, 0 for none.
	Task(ctx context.Context, array job.ID, index int) (job.ID, error)
	// Results returns the results of the ended tasks of an array.
	Results(ctx context.Context, array job.ID) (job.Results, error)
	// ByKey returns the job that has a user's request key.
	ByKey(ctx context.Context, uid int, key string) (job.ID, bool, error)
}

// Units is systemd.
type Units interface {
	Start(ctx context.Context, name string, props []units.Property) (units.Status, error)
	Stop(ctx context.Context, name string) error
	Kill(ctx context.Context, name string, signal int, whom units.Whom) error
	Freeze(ctx context.Context, name string, on bool) error
	Status(ctx context.Context, name string) (units.Status, error)
	List(ctx context.Context) ([]units.Status, error)
}

// Changes reports each hint of systemd's, in order, until ctx is done.
type Changes func(ctx context.Context, tell func(units.Change))

// Persons returns the person that a uid belongs to, and whether that is certain.
type Persons func(uid int) (person int, certain bool)

// System asks systemd about itself.
type System func(ctx context.Context) (units.System, error)

// ChangesOf returns the hints from a channel.
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

// Source reads the GPUs. Sample reads everything; Look omits the energy, which takes longest. An
// error means that the source could not even be asked.
type Source interface {
	Sample(ctx context.Context) (gpu.Snapshot, error)
	Look(ctx context.Context) (gpu.Snapshot, error)
}

// Kernel follows the driver's error reports in the kernel's log: all of this boot, in order, and
// then each new one, until ctx is done.
type Kernel interface {
	Run(ctx context.Context, tell func(gpu.XidReport))
}

// Specs keeps the launchers' private instructions, one file per attempt: a late start, called by a
// daemon that died, must not find those of the next attempt.
type Specs interface {
	Write(id job.ID, uid int, s *launch.Spec) (path string, err error)
	Remove(id job.ID, attempt int) error
	// Sweep removes the specs that keep rejects.
	Sweep(keep func(id job.ID, attempt int) bool) error

	// Keep stores beside its spec what must be known about an attempt if the state file is lost;
	// Remove removes it with the spec. Kept returns what was stored last, nil for nothing.
	Keep(id job.ID, attempt int, data []byte) error
	Kept(id job.ID, attempt int) ([]byte, error)
	SweepKept(wanted func(id job.ID, attempt int) bool) error
}

// Meter reads what a unit's control group has used: the peak of its host memory in bytes, and CPU
// time. It returns false if nothing is known.
type Meter func(controlGroup string) (job.HostUse, bool)

// NameToday returns the present name of the account with a uid: was, if that is still one of its
// names, or "" if there is no such account. The error says why the name is not known. It waits for
// the directory unless the host's files or a very recent answer have the name.
type NameToday func(uid int, was string, wait time.Duration) (string, error)

// QuotaGroups returns the groups with a quota that an account is in today. Where membership is
// unknown, the groups of its last job count. Without wait it answers from what is known already.
type QuotaGroups func(uid int, had job.GIDs, wait bool) []string

// Inside lists the processes in a control group; nil if they are not known.
type Inside func(controlGroup string) []cgroup.Process

// EndProcess sends the signal to the process, unless its pid belongs to another process by now.
type EndProcess func(core.EndProcess) error

// Origin returns what a unit was made from, for a job that only its unit knows. The error is
// units.ErrAbsent if there is no such unit.
type Origin func(ctx context.Context, name string) (units.Origin, error)

// Tell writes a note into the journal of a running job, where its owner, with this uid, can read
// it. It takes no longer than ctx.
type Tell func(ctx context.Context, id job.ID, uid int, text string) error

// Open starts a process in the unit of a running job that runs commands for the job's owner, who
// has this uid.
type Open func(ctx context.Context, id job.ID, uid int) error

// Deliver sends a message about a job, given everything on record about it, to the address or URL
// that its owner chose, "" for none. It returns why that failed, and whether another try may
// succeed. It takes no longer than ctx.
type Deliver func(ctx context.Context, n job.Notification, j *job.Job, to string) (why job.Message, again bool)

// Notify tells systemd the state of the daemon.
type Notify interface {
	Ready()
	Stopping()
	Alive()
	Status(text string)
}
