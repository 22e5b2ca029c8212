package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/launch"
	"github.com/gpusched/gpusched/units/systemd"
)

// herald puts notes into the journals of jobs. What the daemon itself logs is
// root's and no user finds it there, so systemd has a process of the job's own
// unit and user print the note.
type herald struct {
	dir   string
	units *systemd.Manager
	turn  chan struct{} // capacity 1: one note at a time, since a unit has place for one
}

func newHerald(dir string, m *systemd.Manager) *herald {
	return &herald{dir: dir, units: m, turn: make(chan struct{}, 1)}
}

// noteTime is how long systemd may take for one note.
const noteTime = 5 * time.Second

// noteRoom is the memory that printing a note needs at most. It is the job's and
// that of the slices that it is in, so a job that has not so much left is not
// told: it would be killed for it.
const noteRoom = 32 << 20

// tell puts a note into the journal of a running job.
func (h *herald) tell(ctx context.Context, id job.ID, uid int, text string) error {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	name := units.Name(int64(id))
	st, err := h.units.Status(ctx, name)
	if err != nil {
		return err
	}
	if room := cgroup.Room(cgroup.Root, st.ControlGroup); room != cgroup.Unknown && room < noteRoom {
		return fmt.Errorf("job %d has only %s of its memory left: it is not told", id, job.FormatSize(room))
	}
	if err := launch.WriteNote(h.dir, int64(id), uid, text); err != nil {
		return err
	}
	err = h.units.Reload(ctx, name)
	if errors.Is(err, units.ErrAbsent) {
		err = nil // it has ended meanwhile
	}
	return errors.Join(err, launch.RemoveNote(h.dir, int64(id)))
}
