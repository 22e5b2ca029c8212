package systemd

import (
	"context"
	"fmt"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// Reload makes the named unit run its ExecReload, which prints the note next to a job's spec, and
// waits for the end of that run. The main process does not notice. The error is units.ErrAbsent if
// there is no such unit.
func (m *Manager) Reload(ctx context.Context, name string) error {
	l, err := m.linkFor("reload", name)
	if err != nil {
		return err
	}
	m.groups.Delete(name) // now the unit must be read completely: an abandoned reload may still be queued
	w := m.waiters.enter(name, false)
	defer m.waiters.leave(name, w)
	var job dbus.ObjectPath
	err = l.manager(ctx, "ReloadUnit", name, "fail").Store(&job)
	switch {
	case code(err) == errNoSuchUnit:
		return fmt.Errorf("reload unit %q: %w", name, units.ErrAbsent)
	case err != nil:
		return wrap("reload unit", name, err)
	}
	result, err := m.await(ctx, l, w, job)
	switch {
	case err != nil:
		return wrap("reload unit", name, err)
	case result != jobDone && result != jobUnknown:
		return fmt.Errorf("reload unit %q: systemd's job ended as %s", name, result)
	}
	return nil
}
