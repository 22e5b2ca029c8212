package systemd

import (
	"context"
	"path"
	"strconv"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// A caller that waits for a signal also asks systemd once per pollEvery. A connection loses no
// signal, except while systemd re-executes itself.
const pollEvery = time.Second

// await waits for the end of a systemd job and returns its result, or jobUnknown if the result was
// missed.
func (m *Manager) await(ctx context.Context, l *link, w *waiter, job dbus.ObjectPath) (string, error) {
	return awaitUnless(ctx, l, w, job, func() (bool, error) { return false, nil })
}

// awaitStart is like await, for the systemd job that starts the named unit. A main process may send
// STOPPING=1 before systemd notices its start. Then the unit goes from starting to deactivating,
// and the systemd job ends only with the unit. awaitStart treats the start as ended all the same.
func (m *Manager) awaitStart(ctx context.Context, l *link, w *waiter, name string, job dbus.ObjectPath) (string,
	error) {
	return awaitUnless(ctx, l, w, job, func() (bool, error) {
		p, err := l.properties(ctx, objectPath(name), unitIface, "ActiveState")
		return get[string](p, "ActiveState") == units.ActiveDeactivating, err
	})
}

// awaitUnless waits for the end of a systemd job, or until isOver returns true. It calls isOver
// whenever it asks systemd.
func awaitUnless(ctx context.Context, l *link, w *waiter, job dbus.ObjectPath, isOver func() (bool, error)) (string,
	error) {
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	for {
		if r, ok := w.result(job); ok {
			return r, nil
		}
		select {
		case <-w.woken:
			if r, ok := w.result(job); ok {
				return r, nil
			}
		case <-timer.C:
		case <-l.closed():
			return "", errLost
		case <-ctx.Done():
			return "", ctx.Err()
		}
		there, err := jobThere(ctx, l, job)
		if err != nil {
			return "", err
		}
		if !there {
			if r, ok := w.result(job); ok { // a signal about the end came before this answer
				return r, nil
			}
			return jobUnknown, nil
		}
		if is, err := isOver(); is || err != nil {
			return jobUnknown, err
		}
		timer.Reset(pollEvery)
	}
}

func jobThere(ctx context.Context, l *link, job dbus.ObjectPath) (bool, error) {
	id, err := strconv.ParseUint(path.Base(string(job)), 10, 32)
	if err != nil {
		return false, err
	}
	err = l.manager(ctx, "GetJob", uint32(id)).Err
	if code(err) == errNoSuchJob {
		return false, nil
	}
	return err == nil, err
}
