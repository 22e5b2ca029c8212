package systemd

import (
	"context"
	"path"
	"strconv"
	"time"

	"github.com/godbus/dbus/v5"
)

// lookAgain is how long a caller relies on a signal that should come. Signals
// are not lost on a living connection, except while systemd executes itself
// anew.
const lookAgain = time.Second

// await waits until job has ended and returns its result, or jobUnknown if it
// has ended unheard.
func (m *Manager) await(ctx context.Context, l *link, w *wait, job dbus.ObjectPath) (string, error) {
	timer := time.NewTimer(lookAgain)
	defer timer.Stop()
	for {
		if r, ok := w.result(job); ok {
			return r, nil
		}
		select {
		case <-w.poked:
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
