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

// noteWriter puts notes into the journals of jobs. What the daemon itself logs is
// root's and no user finds it there, so systemd has a process of the job's own
// unit and user print the note.
//
// That process is the user's, who can stop it for as long as systemd waits. So a
// note waits for others of its own job and, where there are many, of its own user.
type noteWriter struct {
	dir   string
	scope units.Scope // of the systemd that has the jobs
	units noteUnits
	jobs  slots.Slots[job.ID] // a unit has place for one note
	users slots.Slots[int]
}

// noteUnits is what of systemd brings notes.
type noteUnits interface {
	Status(ctx context.Context, name string) (units.Status, error)
	Reload(ctx context.Context, name string) error
}

// notesAtOnce is how many notes to jobs of one user are on their way at most.
const notesAtOnce = 4

// newNoteWriter makes one that leaves notes in the directory dir for the launchers.
func newNoteWriter(dir string, u noteUnits, scope units.Scope) *noteWriter {
	return &noteWriter{dir: dir, units: u, scope: scope}
}

// noteTime is how long systemd may take for one note.
const noteTime = 5 * time.Second

// noteRoom is the memory that printing a note needs at most. It is the job's and
// that of the slices that it is in, so a job that has not so much left is not
// told: it would be killed for it.
const noteRoom = 32 << 20

// Open has the process that would print a note leave one behind that listens for
// commands of the job's user. So they are in the job's unit, under its user, limits and
// device filter, and end with it, and root starts nothing else.
func (w *noteWriter) Open(ctx context.Context, id job.ID, uid int) error {
	return w.Tell(ctx, id, uid, contract.DoorNote+w.scope.Terminal(int64(id)))
}

// Tell puts a note into the journal of a running job.
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
	if st.Spent { // its GPUs may be another's already
		return fmt.Errorf("job %d has ended", id)
	}
	if st.Active == units.ActiveReloading {
		return fmt.Errorf("the process that prints notes of job %d does not end", id)
	}
	if room := cgroup.Room(cgroup.Root, st.ControlGroup); room != cgroup.Unknown && room < noteRoom {
		return fmt.Errorf("job %d has only %s of its memory left: it is not told", id, job.FormatSize(room))
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
