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

// Store keeps what must survive.
type Store interface {
	// Commit makes all records durable in one transaction, or none. After
	// job.ErrDamaged, also of Payload and ByKey, the daemon ends, to be started again
	// on a file that works; after job.ErrInvalid too, to go on from what is on record.
	Commit(ctx context.Context, records []job.Record) error
	// Payload returns a job's private part, or job.ErrNoPayload where it never
	// will.
	Payload(ctx context.Context, id job.ID) (job.Payload, error)
	// Jobs returns these jobs, in any order; unknown ids are left out.
	Jobs(ctx context.Context, ids []job.ID) ([]job.Job, error)
	// Attempts returns all attempts of a job, first to current.
	Attempts(ctx context.Context, id job.ID) ([]job.Attempt, error)
	// Notifications returns the messages about a job.
	Notifications(ctx context.Context, id job.ID) ([]job.Notification, error)
	// Ended returns at most q.Ended jobs that have ended, newest first.
	Ended(ctx context.Context, q job.Query) ([]job.Job, error)
	// Lately counts an account's jobs that ended at a moment or after it.
	Lately(ctx context.Context, uid int, since time.Time) (job.Lately, error)
	// Past returns a part of the jobs that have ended, and from where it goes on.
	Past(ctx context.Context, q job.PastQuery) (job.Past, error)
	// Runs calls f for every attempt that was under way from a moment on.
	Runs(ctx context.Context, q job.RunQuery, f func(*job.Run) error) error
	// Ends says how those of the jobs have ended that have.
	Ends(ctx context.Context, ids []job.ID) (map[job.ID]job.End, error)
	// Task returns the job that a task of an array became, 0 for none.
	Task(ctx context.Context, array job.ID, index int) (job.ID, error)
	// Results returns what the ended tasks of an array came to.
	Results(ctx context.Context, array job.ID) (job.Results, error)
	// ByKey finds the job of a request key.
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

// Persons returns whose a uid is, and whether that is certain.
type Persons func(uid int) (person int, certain bool)

// System asks systemd about itself.
type System func(ctx context.Context) (units.System, error)

// ChangesOf is the hints that come by a channel.
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

// Source reads the GPUs, all there is to know of them or all but the energy, which takes
// the longest. An error means that it could not even be asked.
type Source interface {
	Sample(ctx context.Context) (gpu.Snapshot, error)
	Look(ctx context.Context) (gpu.Snapshot, error)
}

// Kernel follows what the driver reports of its GPUs in the kernel's log: all of
// this boot, in order, and then each as it comes, until ctx is done.
type Kernel interface {
	Run(ctx context.Context, tell func(gpu.XidReport))
}

// Specs keeps the launchers' private instructions, for each attempt its own: a start
// that comes late, by a call of a daemon that died, must not find the next one's.
type Specs interface {
	Write(id job.ID, uid int, s *launch.Spec) (path string, err error)
	Remove(id job.ID, attempt int) error
	// Sweep removes what keep does not want.
	Sweep(keep func(id job.ID, attempt int) bool) error

	// Keep puts what is to be known of an attempt without the state file beside its spec,
	// which Remove takes away with it. Kept is what was put there last, nil for nothing.
	Keep(id job.ID, attempt int, data []byte) error
	Kept(id job.ID, attempt int) ([]byte, error)
	SweepKept(wanted func(id job.ID, attempt int) bool) error
}

// Meter reads what a unit's control group has used so far: the highest host
// memory in bytes and the CPU time; false: nothing is known.
type Meter func(controlGroup string) (job.HostUse, bool)

// NameToday returns the name that the account of a number has now: was, if that still is one of its
// names, and "" if there is no such account. The error says why that is not known. The directory is
// waited for, unless the host's files say it, or it said so itself within the last moment.
type NameToday func(uid int, was string, wait time.Duration) (string, error)

// QuotaGroups returns the names of the groups with a quota that an account is in today. Where it is not known
// whether it is in one, it is if its last job was submitted with that. Without wait the answer is what is known
// by now.
type QuotaGroups func(uid int, had job.GIDs, wait bool) []string

// Inside lists the processes that a control group has; nil: that is not known.
type Inside func(controlGroup string) []cgroup.Process

// EndProcess sends the signal to the process, unless it is another than the one
// that is meant: its pid may have been given out again.
type EndProcess func(core.EndProcess) error

// Origin reports what the unit name was made from, for a job that nothing is
// known of but its unit. It is units.ErrAbsent where there is none of that name.
type Origin func(ctx context.Context, name string) (units.Origin, error)

// Tell puts a note into the journal of a running job, where its owner, whose uid
// it is, can read it. It may take no longer than ctx.
type Tell func(ctx context.Context, id job.ID, uid int, text string) error

// Open has a process in the unit of a running job listen for commands of its owner, whose
// uid it is.
type Open func(ctx context.Context, id job.ID, uid int) error

// Deliver sends a message about a job, of which it has all that is on record, to the
// address or URL of its owner's choice, "" for none. It returns why it could not, and
// whether another try may do better. It may take no longer than ctx.
type Deliver func(ctx context.Context, n job.Notification, j *job.Job, to string) (why job.Message, again bool)

// Notify tells systemd how the daemon is.
type Notify interface {
	Ready()
	Stopping()
	Alive()
	Status(text string)
}
