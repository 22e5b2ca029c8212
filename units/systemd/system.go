package systemd

import (
	"context"
	"strconv"

	"github.com/gpusched/gpusched/units"
)

// ControlGroup asks systemd for the control group below which its units are: "" of the
// machine's, where nothing is around it.
func (m *Manager) ControlGroup(ctx context.Context) (string, error) {
	l, err := m.current()
	if err != nil {
		return "", wrap("control group of", "systemd", err)
	}
	p, err := l.properties(ctx, managerPath, managerIface, "ControlGroup")
	if err != nil {
		return "", wrap("control group of", "systemd", err)
	}
	return get[string](p, "ControlGroup"), nil
}

// System asks systemd about itself. Its start is told by the clock of the kernel
// that nobody sets, which is another at each start, and is kept by systemd when
// it executes itself anew.
func (m *Manager) System(ctx context.Context) (units.System, error) {
	l, err := m.current()
	if err != nil {
		return units.System{}, wrap("state of", "systemd", err)
	}
	p, err := l.properties(ctx, managerPath, managerIface, "UserspaceTimestampMonotonic", "SystemState")
	if err != nil {
		return units.System{}, wrap("state of", "systemd", err)
	}
	return units.System{
		Run:      strconv.FormatUint(get[uint64](p, "UserspaceTimestampMonotonic"), 10),
		Stopping: get[string](p, "SystemState") == "stopping",
	}, nil
}
