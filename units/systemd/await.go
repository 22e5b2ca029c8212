package systemd

import (
	"context"
	"path"
	"strconv"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// lookAgain is how long a caller relies on a signal that should come. Signals
// are not lost on a living connection, except while systemd executes itself
// anew.
const lookAgain = time.Second

// await waits until job has ended and returns its result, or jobUnknown if it
// has ended unheard.
func (m *Manager) await(ctx context.Context, l *link, w *waiter, job dbus.ObjectPath) (string, error) {
	return awaitUnless(ctx, l, w, job, func() (bool, error) { return false, nil })
}

// awaitStart is await for the job that starts the unit name. A main process that
// says STOPPING=1 before systemd has taken notice of its start takes the unit from
// starting to deactivating, and then that job ends only with the unit. The start
// is over all the same.
func (m *Manager) awaitStart(ctx context.Context, l *link, w *waiter, name string, job dbus.ObjectPath) (string,
	error) {
	return awaitUnless(ctx, l, w, job, func() (bool, error) {
		p, err := l.properties(ctx, objectPath(name), unitIface, "ActiveState")
		return get[string](p, "ActiveState") == units.ActiveDeactivating, err
	})
}

// awaitUnless waits for the end of job, or until over is true, which it asks each
// time that it looks.
func awaitUnless(ctx context.Context, l *link, w *waiter, job dbus.ObjectPath, over func() (bool, error)) (string,
	error) {
	timer := time.NewTimer(lookAgain)
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
			if r, ok := w.result(job); ok { // its signal came before this answer, if at all
				return r, nil
			}
			return jobUnknown, nil
		}
		if is, err := over(); is || err != nil {
			return jobUnknown, err
		}
		timer.Reset(lookAgain)
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
