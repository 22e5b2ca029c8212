package systemd

import (
	"context"
	"fmt"

	"github.com/gpusched/gpusched/units"
)

// Freeze halts every process of the unit name, or lets them go on;
// units.ErrAbsent where there is none of that name. It does not matter whether
// they were halted before.
func (m *Manager) Freeze(ctx context.Context, name string, on bool) error {
	method := "ThawUnit"
	if on {
		method = "FreezeUnit"
	}
	l, err := m.linkFor("freeze", name)
	if err != nil {
		return err
	}
	err = l.manager(ctx, method, name).Err
	switch {
	case code(err) == errNoSuchUnit:
		return fmt.Errorf("freeze unit %q: %w", name, units.ErrAbsent)
	case err != nil:
		return wrap("freeze unit", name, err)
	}
	return nil
}
