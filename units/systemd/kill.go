package systemd

import (
	"context"
	"fmt"

	"github.com/gpusched/gpusched/units"
)

// Kill sends signal to every process of the unit name, or to its main process alone;
// units.ErrAbsent where there is none of that name. A unit without processes is not an
// error, nor is one whose main process has ended.
func (m *Manager) Kill(ctx context.Context, name string, signal int, whom units.Whom) error {
	l, err := m.linkFor("kill", name)
	if err != nil {
		return err
	}
	err = l.manager(ctx, "KillUnit", name, string(whom), int32(signal)).Err
	switch {
	case code(err) == errNoProcess: // the main one
		return nil
	case code(err) == errNoSuchUnit:
		return fmt.Errorf("kill unit %q: %w", name, units.ErrAbsent)
	case err != nil:
		return wrap("kill unit", name, err)
	}
	return nil
}
