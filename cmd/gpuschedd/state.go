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

// openState opens the state file and reads it. A damaged one is moved aside,
// once per start: without its queue the scheduler is of more use than not at all,
// and running jobs are recovered from their units. A file of a newer release, one
// that is in use and a disk that fails are left alone: they are no damage, and the
// next start tries again.
func (a *assembly) openState(ctx context.Context) (store.State, error) {
	state, err := a.readState(ctx)
	if !errors.Is(err, store.ErrCorrupt) {
		return state, err
	}
	path := a.paths.stateFile()
	to, asideErr := store.SetAside(path, time.Now())
	if asideErr != nil {
		return state, errors.Join(err, asideErr)
	}
	a.log.Error("the state file is damaged and was moved aside: all waiting jobs, the history, paused and drained GPUs and reservations are lost; "+
		"running jobs go on and are recovered from their units; see 'gpusched health' for what to do", "file", to, "err", err)
	return a.readState(ctx)
}

func (a *assembly) readState(ctx context.Context) (store.State, error) {
	s, err := store.Open(ctx, a.paths.stateFile(), store.Options{})
	if err != nil {
		return store.State{}, err
	}
	state, err := s.Load(ctx)
	if err != nil {
		return state, errors.Join(err, s.Close())
	}
	a.store = s
	return state, nil
}

// checkStateFile tells of damaged state files until somebody has seen to them.
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
