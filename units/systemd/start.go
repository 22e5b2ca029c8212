package systemd

import (
	"context"
	"fmt"

	sddbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// jobDone is the result of a systemd job that succeeded.
const jobDone = "done"

// jobUnknown is the result of a systemd job whose end was missed.
const jobUnknown = units.JobUnknown

// Start starts the named unit and waits until its main process is executed. It returns the unit's
// status right after that. A short job may already have ended. The status of a running job has only
// its state and invocation.
//
// The errors are units.ErrExists (the unit was started before: adopt it), units.ErrBus (the outcome
// is unknown), units.ErrNotNow (nothing was started, try again later), *units.RefusedError (systemd
// refused the unit, nothing was started) and *units.StartError (the start was tried and failed;
// stop the unit to remove it).
func (m *Manager) Start(ctx context.Context, name string, props []units.Property) (units.Status, error) {
	none := units.Status{Name: name}
	l, err := m.linkFor("start", name)
	if err != nil {
		return none, err
	}
	w := m.waiters.enter(name, true)
	defer m.leaveStart(name, w)
	m.tidy.noteStart(name)
	slice, ofSlice, props := units.Split(props)
	if slice != "" {
		own := m.slices.note(slice)
		own.mu.Lock()
		defer own.mu.Unlock()
		own.gone = false
		if err := m.makeSlice(ctx, l, name, slice, ofSlice); err != nil {
			return none, err
		}
	}
	m.groups.Store(name, m.groupOf(name, props)) // before systemd can have dropped it again
	job, err := m.startRequiring(ctx, l, name, props)
	if err != nil {
		m.groups.Delete(name)
		return none, err
	}
	mark(ctx, units.StepQueued)
	result, err := m.awaitStart(ctx, l, w, name, job)
	if err != nil {
		return none, wrap("start unit", name, err)
	}
	mark(ctx, units.StepExecuted)
	m.seen.Store(name, true)
	last := w.lastState()
	status, err := m.statusBegun(ctx, l, name, result, last)
	switch {
	case err != nil:
		return none, err
	case wasSkipped(result, status, last):
		result = units.JobSkipped
	case hasBegun(result, status):
		return status, nil
	}
	return status, &units.StartError{JobResult: result, Status: status}
}

// wasSkipped reports whether a successful start executed nothing because a condition of the unit is
// not met (ConditionPathExists=, ExecCondition=). If a process of the unit was executed, the unit
// was active.
func wasSkipped(result string, s units.Status, t *unitChange) bool {
	phase, _ := units.Decode(s)
	return result == jobDone && phase == units.PhaseAbsent && !s.WasActive && (t == nil || t.entered == 0)
}

// leaveStart ends the wait for a start. If the caller did not get a signal about the unit,
// leaveStart reports it as an ordinary change.
func (m *Manager) leaveStart(name string, w *waiter) {
	m.waiters.leave(name, w)
	if w.lastState() != nil {
		m.changes.add(name)
	}
}

// mark reports a step to the function in the context, if any.
func mark(ctx context.Context, step string) {
	if report, ok := ctx.Value(units.MarkKey{}).(func(string)); ok {
		report(step)
	}
}

// hasBegun reports whether the main process was executed. systemd also calls a start failed if the
// main process failed before systemd looked at it.
func hasBegun(result string, s units.Status) bool {
	if result == jobDone {
		return true
	}
	phase, _ := units.Decode(s)
	return phase == units.PhaseRunning || phase == units.PhaseStopping || phase == units.PhaseExited
}

// startRequiring queues the start of a unit, which may require a further one. Only one start at a
// time may make that unit. If systemd drops it just then, the start is refused, and tried again
// later.
func (m *Manager) startRequiring(ctx context.Context, l *link, name string, props []units.Property) (dbus.ObjectPath,
	error) {
	aux, props := units.CutAuxiliary(props)
	if aux.Name == "" {
		return m.startTransient(ctx, l, name, props)
	}
	m.making.Lock()
	defer m.making.Unlock()
	there, err := unitThere(ctx, l, aux.Name)
	if err != nil {
		return "", err
	}
	if there {
		return m.startTransient(ctx, l, name, props)
	}
	further := sddbus.PropertyCollection{Name: aux.Name, Properties: m.compat.encode(aux.Properties)}
	return m.startTransient(ctx, l, name, props, further)
}

// startTransient queues the start, and makes further units in the same call. It may have to try
// several times, because an older systemd reports only one unknown property at a time.
func (m *Manager) startTransient(ctx context.Context, l *link, name string, props []units.Property,
	further ...sddbus.PropertyCollection) (dbus.ObjectPath, error) {
	if further == nil {
		further = []sddbus.PropertyCollection{}
	}
	for {
		var job dbus.ObjectPath
		err := l.manager(ctx, "StartTransientUnit", name, "fail", m.compat.encode(props), further).Store(&job)
		switch c := code(err); {
		case err == nil:
			return job, nil
		case c == errUnitExists:
			return "", fmt.Errorf("start unit %q: %w", name, units.ErrExists)
		case c == errDestructive || c == errConflicting || c == errShuttingDown:
			return "", fmt.Errorf("start unit %q: %w: %w", name, units.ErrNotNow, err)
		case c == "" || isTemporary(c):
			return "", wrap("start unit", name, err)
		case c == errPropReadOnly && m.compat.drop(err.Error(), props):
			continue
		default:
			return "", &units.RefusedError{Name: name, Code: c, Message: err.Error()}
		}
	}
}
