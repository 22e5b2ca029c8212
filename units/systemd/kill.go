package systemd

import (
	"context"
	"fmt"

	"github.com/gpusched/gpusched/units"
)

// Kill sends a signal to every process of the named unit, or only to its main process. The error is
// units.ErrAbsent if there is no such unit. If the unit has no processes, or its main process has
// ended, that is not an error.
func (m *Manager) Kill(ctx context.Context, name string, signal int, whom units.Whom) error {
	l, err := m.linkFor("kill", name)
	if err != nil {
		return err
	}
	err = l.manager(ctx, "KillUnit", name, string(whom), int32(signal)).Err
	switch {
	case code(err) == errNoProcess: // there is no main process
		return nil
	case code(err) == errNoSuchUnit:
		return fmt.Errorf("kill unit %q: %w", name, units.ErrAbsent)
	case err != nil:
		return wrap("kill unit", name, err)
	}
	return nil
}
