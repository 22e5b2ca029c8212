package systemd

import (
	"context"
	"strconv"

	"github.com/gpusched/gpusched/units"
)

// ControlGroup returns the control group that contains systemd's units: "" for the machine's
// systemd, outside a container.
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

// System asks systemd about itself. The start time of systemd identifies its run: it is measured by
// the kernel's monotonic clock, differs at each start, and survives a re-execution.
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
