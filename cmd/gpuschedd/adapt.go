package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/store"
	"github.com/gpusched/gpusched/units/launch"
)

// stored is the store as package daemon wants it. What it reads and finds damaged
// it remembers.
type stored struct {
	*store.Store
	unread *unread
}

// unread is the first damage that a read found: the daemon works on, since
// what it needs is in its memory, and health tells.
type unread struct{ first atomic.Pointer[string] }

func (u *unread) see(err error) error {
	if errors.Is(err, store.ErrCorrupt) {
		text := err.Error()
		u.first.CompareAndSwap(nil, &text)
	}
	return err
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

func (s stored) Commit(ctx context.Context, records []job.Record) error {
	return named(s.Store.Commit(ctx, records))
}

// hopeless is an error of the daemon's kind in the store's words.
type hopeless struct {
	error
	kind error
}

func (h hopeless) Is(target error) bool { return target == h.kind }
func (h hopeless) Unwrap() error        { return h.error }

// named gives the errors of the store that no further try mends the names that
// the daemon has for them.
func named(err error) error {
	switch {
	case errors.Is(err, store.ErrCorrupt):
		return hopeless{err, daemon.ErrDamaged}
	case errors.Is(err, store.ErrInvalid):
		return hopeless{err, daemon.ErrInvalid}
	}
	return err
}

func (s stored) Jobs(ctx context.Context, ids []job.ID) ([]job.Job, error) {
	list, err := s.Store.Jobs(ctx, ids)
	return list, s.unread.see(err)
}

func (s stored) Attempts(ctx context.Context, id job.ID) ([]job.Attempt, error) {
	list, err := s.Store.Attempts(ctx, id)
	return list, s.unread.see(err)
}

func (s stored) Ended(ctx context.Context, q job.Query) ([]job.Job, error) {
	list, err := s.Store.Ended(ctx, q)
	return list, s.unread.see(err)
}

func (s stored) Payload(ctx context.Context, id job.ID) (job.Payload, error) {
	p, err := s.Store.Payload(ctx, id)
	return p, named(err)
}

func (s stored) ByKey(ctx context.Context, uid int, key string) (job.ID, bool, error) {
	id, known, err := s.Store.ByKey(ctx, uid, key)
	return id, known, named(err)
}

func (s stored) Ends(ctx context.Context, ids []job.ID) (map[job.ID]job.End, error) {
	ends, err := s.Store.Ends(ctx, ids)
	return ends, s.unread.see(err)
}

// Task makes a task that has not started 0.
func (s stored) Task(ctx context.Context, array job.ID, index int) (job.ID, error) {
	id, err := s.Store.Task(ctx, array, index)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return id, s.unread.see(err)
}

// specDir is the directory of specs as package daemon wants it.
type specDir string

func (d specDir) Write(id job.ID, uid int, s *launch.Spec) (string, error) {
	return launch.Write(string(d), int64(id), uid, s)
}

func (d specDir) Remove(id job.ID) error { return launch.Remove(string(d), int64(id)) }

func (d specDir) Sweep(keep func(job.ID) bool) error {
	return launch.Sweep(string(d), func(id int64) bool { return keep(job.ID(id)) })
}

// meter reads a control group's use so far.
func meter(controlGroup string) (int64, time.Duration, bool) {
	s, err := cgroup.Read(cgroup.Root, controlGroup)
	if err != nil {
		return 0, 0, false
	}
	return s.PeakOrNow(), s.CPU, true
}

// inside lists what runs in a control group; what can't be read is not there.
func inside(controlGroup string) []cgroup.Process {
	list, _ := cgroup.Processes(cgroup.Root, "/proc", controlGroup)
	return list
}
