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

// stateFile opens the file with the scheduler's state, and moves it aside if it is damaged.
type stateFile struct {
	path    string
	lastIDs string // file with the last ids, see store.Options
	log     *slog.Logger

	extend func(by time.Duration, text string) // asks systemd for more time to start

	suspected time.Time // last time that a write found the file damaged
}

// At most maxAside damaged files are moved aside within asideTime. Without this limit, a disk that
// damages each new file would fill up with copies.
const (
	maxAside  = 3
	asideTime = time.Hour
)

var errDamagedAgain = errors.New("the state file is damaged again and again, and the disk is probably broken")

// open opens the state file and reads it. A damaged file is moved aside: a scheduler that lost its
// queue is better than none, and running jobs are recovered from their units. A file that looks
// intact is also moved aside if writes to it have found damage twice within asideTime. A file of a
// newer release, a file in use and a failing disk do not count as damage. In these cases the file
// stays, and the next start tries again.
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

// suspect records that a write found the file damaged. The next open checks the file. If the check
// finds no damage and suspect is called again within asideTime, the file is moved aside.
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
	opened, err := store.Open(ctx, f.path, store.Options{Migrating: f.beginMigration, LastIDs: f.lastIDs})
	if err != nil {
		return nil, job.Restored{}, err
	}
	state, err := opened.Load(ctx)
	if err != nil {
		return nil, state, errors.Join(err, opened.Close())
	}
	return opened, state, nil
}

// migrationTime limits a change of the schema. With a long history,
// the change takes longer than a start may normally take.
const migrationTime = 2 * time.Hour

// beginMigration reports that a change of the file's schema begins. The returned function reports
// its end.
func (f *stateFile) beginMigration(from, to int) (done func()) {
	begun := time.Now()
	f.log.Info("bringing the state file to the schema of this release; a copy of the old one stays beside it",
		"from", from, "to", to, "copy", store.BackupPath(f.path, from))
	f.extend(migrationTime, "bringing the state file to the schema of this release")
	return func() { f.log.Info("the state file has the schema of this release", "took", time.Since(begun)) }
}

// check reports damaged state files that were moved aside, until an administrator removes them.
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
		fmt.Sprintf("a damaged state file was moved to %s: the jobs that waited, the history, paused and drained GPUs and reservations are lost; running jobs were recovered", last),
		fmt.Sprintf("check the disk (journalctl -k), pause and drain GPUs again, ask users to resubmit the jobs that waited ('sqlite3 %s .recover' shows what can be read), and move the file elsewhere", last))
}
