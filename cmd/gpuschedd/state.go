package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/store"
)

// mends is what the process knows of damaged state files.
type mends struct {
	doubted time.Time // when writing last said that the file is damaged
}

// Of damaged files no more than maxAside are moved aside within asideTime: a disk
// that damages each new one would fill itself with copies.
const (
	maxAside  = 3
	asideTime = time.Hour
)

var errDamagedAgain = errors.New("the state file is damaged again and again, and the disk is probably broken")

// openState opens the state file and reads it. A damaged one is moved aside:
// without its queue the scheduler is of more use than not at all, and running
// jobs are recovered from their units. So is one that looks well and by which a
// write failed twice within asideTime for damage. A file of a newer release, one
// that is in use and a disk that fails are left alone: they are no damage, and the
// next start tries again.
func (s *session) openState(ctx context.Context) (job.Restored, error) {
	state, err := s.readState(ctx)
	if !errors.Is(err, store.ErrCorrupt) {
		return state, err
	}
	if err := s.moveAside(err); err != nil {
		return state, err
	}
	return s.readState(ctx)
}

func (a *assembly) moveAside(why error) error {
	path := a.paths.stateFile()
	now := time.Now()
	if n, err := store.AsideSince(path, now.Add(-asideTime)); err != nil || n >= maxAside {
		return errors.Join(errDamagedAgain, why, err)
	}
	to, err := store.SetAside(path, now)
	if err != nil {
		return errors.Join(why, err)
	}
	a.log.Error("the state file is damaged and was moved aside: all waiting jobs, the history, paused and drained GPUs and reservations are lost; "+
		"running jobs go on and are recovered from their units; see 'gpusched health' for what to do", "file", to, "err", why)
	return nil
}

// doubt notes that a write found the file damaged. The next opening checks
// it; where that finds nothing, the second doubt decides.
func (a *assembly) doubt(why error) {
	now := time.Now()
	again := !a.mends.doubted.IsZero() && now.Sub(a.mends.doubted) < asideTime
	a.mends.doubted = now
	if !again {
		return
	}
	a.mends.doubted = time.Time{}
	if err := a.moveAside(why); err != nil {
		a.log.Error("moving the damaged state file aside", "err", err)
	}
}

func (s *session) readState(ctx context.Context) (job.Restored, error) {
	opened, err := store.Open(ctx, s.paths.stateFile(), store.Options{})
	if err != nil {
		return job.Restored{}, err
	}
	state, err := opened.Load(ctx)
	if err != nil {
		return state, errors.Join(err, opened.Close())
	}
	s.store = opened
	return state, nil
}

// checkStateFile reports damaged state files until somebody has seen to them.
func checkStateFile(path string) job.Check {
	c := job.Check{Name: "state file", Health: job.Healthy, Detail: "undamaged at the start"}
	damaged, err := store.Aside(path)
	if err != nil {
		c.Health, c.Detail = job.Degraded, err.Error()
		c.Next = "see that " + filepath.Dir(path) + " can be read"
		return c
	}
	if len(damaged) == 0 {
		return c
	}
	last := damaged[len(damaged)-1]
	c.Health = job.Degraded
	c.Detail = fmt.Sprintf("a damaged state file was moved to %s: what waited then, the history, paused and drained GPUs and reservations are lost; what ran was recovered", last)
	c.Next = fmt.Sprintf("check the disk (journalctl -k), pause and drain GPUs again, have users submit again what waited ('sqlite3 %s .recover' shows what can be read), and move the file elsewhere", last)
	return c
}

// checkUnread adds what reads found since the start.
func checkUnread(u *unread, c job.Check) job.Check {
	text := u.first.Load()
	if text == nil {
		return c
	}
	return job.Check{
		Name: c.Name, Health: job.Degraded, Detail: "a part of it can't be read, what waits and runs goes on: " + *text,
		Next: "check the disk (journalctl -k); let what waits end before the scheduler is restarted: that moves the file aside and begins an empty one",
	}
}
