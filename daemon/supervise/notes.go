package supervise

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/slots"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/launch"
)

// noteWriter writes notes into the journals of jobs. The daemon's own log lines belong to root, and
// no user finds them there, so systemd makes a process of the job's own unit and user print the
// note.
//
// That process belongs to the user, who can stop it as long as systemd waits. So a note waits for
// others to the same job and, if there are many, to the same user.
type noteWriter struct {
	dir   string
	scope units.Scope // of the systemd that runs the jobs
	units noteUnits
	jobs  slots.Slots[job.ID] // a unit has room for one note
	users slots.Slots[int]
}

// noteUnits is the part of systemd that notes need.
type noteUnits interface {
	Status(ctx context.Context, name string) (units.Status, error)
	Reload(ctx context.Context, name string) error
}

// notesAtOnce limits the concurrent notes to jobs of one user.
const notesAtOnce = 4

// newNoteWriter returns a noteWriter that leaves notes for the launchers in the directory dir.
func newNoteWriter(dir string, u noteUnits, scope units.Scope) *noteWriter {
	return &noteWriter{dir: dir, units: u, scope: scope}
}

// noteTime limits systemd's time for one note.
const noteTime = 5 * time.Second

// noteRoom is the most memory that printing a note needs. It counts against the job and its slices,
// so a job with less left gets no note: printing it would get the job killed.
const noteRoom = 32 << 20

// Open makes the process that would print a note leave one behind that runs commands for the job's
// user. So the commands are in the job's unit, under its user, limits and device filter, and end
// with it, and root starts nothing else.
func (w *noteWriter) Open(ctx context.Context, id job.ID, uid int) error {
	return w.Tell(ctx, id, uid, contract.DoorNote+w.scope.Terminal(int64(id)))
}

// Tell writes a note into the journal of a running job.
func (w *noteWriter) Tell(ctx context.Context, id job.ID, uid int, text string) error {
	leave, err := w.jobs.Enter(ctx, id, 1)
	if err != nil {
		return err
	}
	defer leave()
	if leave, err = w.users.Enter(ctx, uid, notesAtOnce); err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	name := units.Name(int64(id))
	st, err := w.units.Status(ctx, name)
	if err != nil {
		return err
	}
	if st.Spent { // its GPUs may be another job's already
		return fmt.Errorf("job %d has ended", id)
	}
	if st.Active == units.ActiveReloading {
		return fmt.Errorf("the process that prints notes to job %d has not ended", id)
	}
	if room := cgroup.Room(cgroup.Root, st.ControlGroup); room != cgroup.Unknown && room < noteRoom {
		return fmt.Errorf("job %d has only %s of its memory left, too little to print a note", id, job.FormatSize(room))
	}
	if err := launch.WriteNote(w.dir, int64(id), uid, text); err != nil {
		return err
	}
	err = w.units.Reload(ctx, name)
	if errors.Is(err, units.ErrAbsent) {
		err = nil // it has ended meanwhile
	}
	return errors.Join(err, launch.RemoveNote(w.dir, int64(id)))
}
