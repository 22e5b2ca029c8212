package systemd

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// A job that may send notifications can delay its own SIGKILL with EXTEND_TIMEOUT_USEC. So if a
// stop takes longer than the unit's own grace, we send a SIGKILL ourselves.
const (
	stopPatience = time.Second      // for stops that should be quick
	stopSlack    = 2 * time.Second  // added to the unit's grace, for systemd's own SIGKILL
	killPatience = 10 * time.Second // from our SIGKILL to the end of the processes; those with much memory take seconds
)

// Stop ends the named unit and then the job's own slice, if there is one. It kills everything left
// in them, and makes systemd drop the unit and its result. A missing unit is not an error. Stop
// waits for the end of the unit's processes, and kills them after the unit's grace.
// units.ErrProcesses means that processes outlived even SIGKILL. systemd may still be waiting for
// them.
func (m *Manager) Stop(ctx context.Context, name string) error {
	err := m.stopUnit(ctx, name)
	if err == nil || errors.Is(err, units.ErrProcesses) {
		err = errors.Join(err, m.endSlices(ctx, name))
	}
	if err == nil {
		m.tidy.keepUnlimited(name)
	}
	return err
}

// stopUnit is Stop without the message to journald. If a unit has ended and stays because it is
// frozen, stopUnit thaws the unit.
func (m *Manager) stopUnit(ctx context.Context, name string) error {
	err := m.endOnce(ctx, name)
	if !errors.Is(err, units.ErrProcesses) {
		return err
	}
	m.exited.Delete(name) // the stored signal is from before the stop, so the unit must be read completely
	if s, failed := m.Status(ctx, name); failed != nil || !s.Frozen || m.Freeze(ctx, name, false) != nil {
		return err
	}
	return m.endOnce(ctx, name)
}

func (m *Manager) endOnce(ctx context.Context, name string) error {
	l, err := m.linkFor("stop", name)
	if err != nil {
		return err
	}
	w := m.waiters.enter(name, false)
	defer m.waiters.leave(name, w)
	_, well := m.exited.Load(name)
	job, err := m.halt(ctx, l, name, func(job dbus.ObjectPath) (string, error) {
		return m.awaitStop(ctx, l, w, name, job)
	})
	if err != nil || job == "" {
		return err
	}
	if well && awaitGone(ctx, l, w, job) {
		return nil
	}
	return m.collect(ctx, l, w, name)
}

// jobFrozen is the result of a systemd job that stops a unit which, as far as systemd knows, is not
// thawed yet.
const jobFrozen = "frozen"

// thawPatience limits the pause before halt tries again. The pauses add up to twice as much.
const thawPatience = time.Second

// halt queues a stop of a unit or slice, waits for its end and returns systemd's job; "" if there
// is no such unit. Newer releases of systemd (257, not 252) refuse to stop a unit that is frozen, or
// that was thawed a moment ago. halt thaws such a unit and tries again.
func (m *Manager) halt(ctx context.Context, l *link, name string, await func(job dbus.ObjectPath) (string, error)) (
	dbus.ObjectPath, error) {
	for wait := collectPause; ; wait *= 2 {
		job, err := stopJob(ctx, l, name)
		if err != nil || job == "" {
			return "", err
		}
		result, err := await(job)
		if errors.Is(err, units.ErrProcesses) {
			return "", fmt.Errorf("stop unit %q: %w", name, err)
		}
		if err != nil {
			return "", wrap("stop unit", name, err)
		}
		if result != jobFrozen || wait > thawPatience {
			return job, nil
		}
		for _, one := range append(m.slices.of(name), name) {
			if err := l.callWithoutReply(ctx, "ThawUnit", one); err != nil {
				return "", wrap("thaw unit", one, err)
			}
		}
		sleep(ctx, wait)
	}
}

// stopJob queues a stop, and returns systemd's job; "" if there is no such unit.
func stopJob(ctx context.Context, l *link, name string) (job dbus.ObjectPath, err error) {
	err = l.manager(ctx, "StopUnit", name, "replace").Store(&job)
	switch {
	case code(err) == errNoSuchUnit:
		return "", nil
	case err != nil:
		return "", wrap("stop unit", name, err)
	}
	return job, nil
}

// awaitGone waits a short time for systemd to report that it has dropped a stopped unit. systemd
// drops the unit by itself, unless the unit failed.
func awaitGone(ctx context.Context, l *link, w *waiter, job dbus.ObjectPath) bool {
	for until := time.Now().Add(collectPause); !w.hasDropped(job); {
		left := time.Until(until)
		if left <= 0 || pause(ctx, l, w, left) != nil {
			return false
		}
	}
	return true
}

// awaitStop waits for the end of the stop and returns its result: collect checks what remains.
func (m *Manager) awaitStop(ctx context.Context, l *link, w *waiter, name string, job dbus.ObjectPath) (string, error) {
	result, err := m.awaitFor(ctx, stopPatience, l, w, job)
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return result, err
	}
	grace, err := graceOf(ctx, l, name)
	if err != nil {
		return "", err
	}
	result, err = m.awaitFor(ctx, grace+stopSlack, l, w, job)
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return result, err
	}
	if err := m.Kill(ctx, name, int(syscall.SIGKILL), units.All); err != nil && !errors.Is(err, units.ErrAbsent) {
		return "", err
	}
	return m.awaitKilled(ctx, l, w, job)
}

// awaitKilled waits for the end of a stop whose processes have been sent SIGKILL. The error is
// units.ErrProcesses if they live on.
func (m *Manager) awaitKilled(ctx context.Context, l *link, w *waiter, job dbus.ObjectPath) (string, error) {
	result, err := m.awaitFor(ctx, killPatience, l, w, job)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return "", units.ErrProcesses
	}
	return result, err
}

func (m *Manager) awaitFor(ctx context.Context, d time.Duration, l *link, w *waiter, job dbus.ObjectPath) (string,
	error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return m.await(ctx, l, w, job)
}

// maxGrace limits the grace that a unit may have according to its properties.
const maxGrace = 24 * time.Hour

func graceOf(ctx context.Context, l *link, name string) (time.Duration, error) {
	p, err := l.properties(ctx, objectPath(name), serviceIface, "TimeoutStopUSec")
	if err != nil {
		return 0, err
	}
	return time.Duration(min(p.amount("TimeoutStopUSec"), uint64(maxGrace/time.Microsecond))) * time.Microsecond, nil
}

// collect makes systemd drop the stopped unit. systemd keeps a failed unit until the failure is
// reset, and any unit while one of its processes lives.
func (m *Manager) collect(ctx context.Context, l *link, w *waiter, name string) error {
	err := l.manager(ctx, "ResetFailedUnit", name).Err
	if code(err) == errNoSuchUnit {
		return nil
	}
	if err != nil {
		return wrap("collect unit", name, err)
	}
	for try := range collectTries {
		there, err := unitThere(ctx, l, name)
		if err != nil || !there {
			return err
		}
		if try == frozenTry {
			if s, err := readStatus(ctx, l, name); err == nil && s.Frozen { // it stays until it is thawed
				break
			}
		}
		if err := pause(ctx, l, w, collectPause); err != nil {
			return wrap("collect unit", name, err)
		}
	}
	return m.whyStillLoaded(ctx, l, name)
}

// systemd drops a unit in its next iteration, so one check nearly always suffices. On a machine that
// is very busy, the last processes may end some time after systemd has reported the stop.
const (
	collectTries = 100
	collectPause = 20 * time.Millisecond
	frozenTry    = 10
)

func pause(ctx context.Context, l *link, w *waiter, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-w.woken:
	case <-t.C:
	case <-l.closed():
		return errLost
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// whyStillLoaded returns the reason why systemd does not drop a stopped unit.
func (m *Manager) whyStillLoaded(ctx context.Context, l *link, name string) error {
	s, err := readStatus(ctx, l, name)
	switch {
	case err != nil:
		return err
	case s.Load == units.LoadNotFound:
		return nil
	case s.ControlGroup != "":
		return fmt.Errorf("stop unit %q: %w", name, units.ErrProcesses)
	}
	return fmt.Errorf("stop unit %q: systemd keeps it (%s, %s)", name, s.Active, s.Sub)
}
