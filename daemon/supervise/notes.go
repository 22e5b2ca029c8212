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

// noteWriter writes notes into the journals of jobs. Users can't see the daemon's own log lines,
// which belong to root. So systemd starts a process in the job's unit, as the job's user. That
// process prints the note.
//
// The process belongs to the user, who can stop it and keep systemd waiting. Notes to one job are
// therefore written one at a time, and notes to one user only a few at a time.
type noteWriter struct {
	dir   string
	scope units.Scope // which systemd runs the jobs
	units noteUnits
	jobs  slots.Slots[job.ID] // one note at a time for each job
	users slots.Slots[int]
}

// noteUnits is the part of systemd that notes need.
type noteUnits interface {
	Status(ctx context.Context, name string) (units.Status, error)
	Reload(ctx context.Context, name string) error
}

// notesAtOnce limits how many notes to jobs of one user are written at the same time.
const notesAtOnce = 4

// newNoteWriter returns a noteWriter. It puts the notes for the launchers into the directory dir.
func newNoteWriter(dir string, u noteUnits, scope units.Scope) *noteWriter {
	return &noteWriter{dir: dir, units: u, scope: scope}
}

// noteTime limits how long systemd may take to print a note.
const noteTime = 5 * time.Second

// noteRoom is the most memory that printing a note needs. This memory counts against the limits of
// the job and its slices. A job with less memory left gets no note: the kernel would kill the job
// to make room.
const noteRoom = 32 << 20

// Open starts a process that runs commands for the job's user, in the same way as a process that
// prints a note. The commands therefore run in the job's unit, under its user, limits and device
// filter, and end with the unit. Root starts no other process for them.
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
	if st.Spent { // another job may already have this job's GPUs
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
		err = nil // the job has ended in the meantime
	}
	return errors.Join(err, launch.RemoveNote(w.dir, int64(id)))
}
