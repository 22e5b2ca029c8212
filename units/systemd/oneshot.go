package systemd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/units"
)

// jobFailed is the result of a systemd job that starts a unit whose program failed.
const jobFailed = "failed"

// lateTime limits how long lateStatus may take.
const lateTime = 2 * time.Second

// RunOneshot starts the named oneshot unit (units.IsErrand). It waits for the unit's end, collects the
// unit, and returns how it ended. A unit that has left nothing behind has succeeded. If the unit
// already existed before this process began, RunOneshot waits for that unit. If ctx ends while the
// unit runs, the status is the unit's state at that time, if systemd reports it.
func (m *Manager) RunOneshot(ctx context.Context, name string, props []units.Property) (units.Status, error) {
	none := units.Status{Name: name}
	if !units.IsErrand(name) {
		return none, fmt.Errorf("start unit %q: not a unit that runs a program of gpusched to its end", name)
	}
	l, err := m.current()
	if err != nil {
		return none, fmt.Errorf("start unit %q: %w", name, err)
	}
	w := m.waiters.enter(name, false)
	defer m.waiters.leave(name, w)
	job, err := m.startTransient(ctx, l, name, props)
	result := jobUnknown
	if err == nil {
		if result, err = m.await(ctx, l, w, job); err != nil {
			return lateStatus(ctx, l, name), wrap("run unit", name, err)
		}
	}
	switch {
	case err != nil && !errors.Is(err, units.ErrExists):
		return none, wrap("run unit", name, err)
	case result != jobDone && result != jobFailed && result != jobUnknown: // the unit never ran
		return none, fmt.Errorf("run unit %q: systemd's job ended as %s", name, result)
	}
	return m.awaitOneshot(ctx, l, w, name)
}

// lateStatus returns the state of a unit after ctx has ended.
func lateStatus(ctx context.Context, l *link, name string) units.Status {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateTime)
	defer cancel()
	s, err := readStatus(ctx, l, name)
	if err != nil {
		return units.Status{Name: name}
	}
	return s
}

// awaitOneshot waits until the unit has stopped. systemd keeps a failed unit.
func (m *Manager) awaitOneshot(ctx context.Context, l *link, w *waiter, name string) (units.Status, error) {
	for {
		there, err := unitThere(ctx, l, name)
		if err != nil || !there {
			return units.Status{Name: name, Result: units.ResultSuccess}, err
		}
		s, err := readStatus(ctx, l, name)
		switch {
		case err != nil:
			return s, err
		case s.Load == units.LoadNotFound, s.Active == units.ActiveInactive && !s.JobPending:
			return units.Status{Name: name, Result: units.ResultSuccess}, nil
		case s.Active == units.ActiveFailed:
			return s, m.collect(ctx, l, w, name)
		}
		if err := pause(ctx, l, w, pollEvery); err != nil {
			return s, wrap("run unit", name, err)
		}
	}
}
