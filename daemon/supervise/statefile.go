package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/store"
)

// stateFile is the file that the scheduler starts from, and what is done where it
// is damaged.
type stateFile struct {
	path    string
	lastIDs string // see store.Options
	log     *slog.Logger

	extend func(by time.Duration, text string) // asks the service manager to wait longer for the daemon's start

	suspected time.Time // when writing last said that the file is damaged
}

// Of damaged files no more than maxAside are moved aside within asideTime: a disk
// that damages each new one would fill itself with copies.
const (
	maxAside  = 3
	asideTime = time.Hour
)

var errDamagedAgain = errors.New("the state file is damaged again and again, and the disk is probably broken")

// open opens the state file and reads it. A damaged one is moved aside:
// without its queue the scheduler is of more use than not at all, and running
// jobs are recovered from their units. So is one that looks well and by which a
// write failed twice within asideTime for damage. A file of a newer release, one
// that is in use and a disk that fails are left alone: they are no damage, and the
// next start tries again.
func (f *stateFile) open(ctx context.Context) (*store.Store, job.Restored, error) {
	opened, state, err := f.read(ctx)
	if !errors.Is(err, job.ErrDamaged) {
		return opened, state, err
	}
	if err := f.moveAside(err); err != nil {
		return nil, state, err
	}
	return f.read(ctx)
}

func (f *stateFile) moveAside(why error) error {
	now := time.Now()
	if n, err := store.QuarantinedSince(f.path, now.Add(-asideTime)); err != nil || n >= maxAside {
		return errors.Join(errDamagedAgain, why, err)
	}
	to, err := store.Quarantine(f.path, now)
	if err != nil {
		return errors.Join(why, err)
	}
	f.log.Error("the state file is damaged and was moved aside: all waiting jobs, the history, paused and drained GPUs and reservations are lost; "+
		"running jobs go on and are recovered from their units; see 'gpusched health' for what to do", "file", to, "err", why)
	return nil
}

// suspect notes that a write found the file damaged. The next opening checks
// it; where that finds nothing, the second suspicion decides.
func (f *stateFile) suspect(why error) {
	now := time.Now()
	again := !f.suspected.IsZero() && now.Sub(f.suspected) < asideTime
	f.suspected = now
	if !again {
		return
	}
	f.suspected = time.Time{}
	if err := f.moveAside(why); err != nil {
		f.log.Error("moving the damaged state file aside", "err", err)
	}
}

func (f *stateFile) read(ctx context.Context) (*store.Store, job.Restored, error) {
	opened, err := store.Open(ctx, f.path, store.Options{Migrating: f.migrating, LastIDs: f.lastIDs})
	if err != nil {
		return nil, job.Restored{}, err
	}
	state, err := opened.Load(ctx)
	if err != nil {
		return nil, state, errors.Join(err, opened.Close())
	}
	return opened, state, nil
}

// migrationTime is how long the change of a schema may take: with a long history that is longer than a start may.
const migrationTime = 2 * time.Hour

// migrating reports that the schema of the file is about to change, and done that it has.
func (f *stateFile) migrating(from, to int) (done func()) {
	begun := time.Now()
	f.log.Info("the state file is brought to the schema of this release; a copy stays beside it",
		"from", from, "to", to, "copy", store.BackupPath(f.path, from))
	f.extend(migrationTime, "bringing the state file to the schema of this release")
	return func() { f.log.Info("the state file has the schema of this release", "took", time.Since(begun)) }
}

// check reports damaged state files until an administrator has moved them elsewhere.
func (f *stateFile) check() job.Check {
	c := job.Check{Name: "state file", Health: job.Healthy, Detail: "undamaged at the start"}
	damaged, err := store.Quarantined(f.path)
	if err != nil {
		return c.Degrade(err.Error(), "see that "+filepath.Dir(f.path)+" can be read")
	}
	if len(damaged) == 0 {
		return c
	}
	last := damaged[len(damaged)-1]
	return c.Degrade(
		fmt.Sprintf("a damaged state file was moved to %s: what waited then, the history, paused and drained GPUs and reservations are lost; what ran was recovered", last),
		fmt.Sprintf("check the disk (journalctl -k), pause and drain GPUs again, have users submit again what waited ('sqlite3 %s .recover' shows what can be read), and move the file elsewhere", last))
}
