package supervise

import (
	"context"
	"errors"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/store"
	"github.com/gpusched/gpusched/units/launch"
)

// stored is the store as package daemon wants it.
type stored struct{ *store.Store }

// checkDamage adds what reads found since the start: the daemon works on, since
// what it needs is in its memory.
func checkDamage(damage error, c job.Check) job.Check {
	if damage == nil {
		return c
	}
	return job.Check{
		Name: c.Name, Health: job.Degraded, Detail: "a part of it can't be read, what waits and runs goes on: " + damage.Error(),
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

func (s stored) Payload(ctx context.Context, id job.ID) (job.Payload, error) {
	p, err := s.Store.Payload(ctx, id)
	return p, named(err)
}

func (s stored) ByKey(ctx context.Context, uid int, key string) (job.ID, bool, error) {
	id, known, err := s.Store.ByKey(ctx, uid, key)
	return id, known, named(err)
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
