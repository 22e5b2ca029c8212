package systemd

import (
	"context"
	"fmt"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// Origin reads what tells from which units.Spec the unit name was made;
// units.ErrAbsent where there is none of that name.
func (m *Manager) Origin(ctx context.Context, name string) (units.Origin, error) {
	if err := checkName(name); err != nil {
		return units.Origin{}, err
	}
	l, err := m.current()
	if err != nil {
		return units.Origin{}, fmt.Errorf("origin of unit %q: %w", name, err)
	}
	there, err := unitThere(ctx, l, name)
	if err != nil {
		return units.Origin{}, err
	}
	if !there {
		return units.Origin{}, fmt.Errorf("origin of unit %q: %w", name, units.ErrAbsent)
	}
	call := l.conn.Object(destination, objectPath(name)).CallWithContext(ctx, propertyIface+".GetAll", 0, "")
	if call.Err != nil {
		return units.Origin{}, wrap("origin of unit", name, call.Err)
	}
	p, ok := only[map[string]dbus.Variant](call.Body)
	if !ok {
		return units.Origin{}, fmt.Errorf("origin of unit %q: %w: properties of another shape", name, units.ErrBus)
	}
	return properties(p).origin(), nil
}

func (p properties) origin() units.Origin {
	return units.Origin{
		Description: get[string](p, "Description"),
		User:        get[string](p, "User"),
		Group:       get[string](p, "Group"),
		LogFields:   get[[][]byte](p, "LogExtraFields"),
		MemoryMax:   p.amount("MemoryMax"),
		CPUQuota:    p.amount("CPUQuotaPerSecUSec"),
		RuntimeMax:  p.amount("RuntimeMaxUSec"),
		TimeoutStop: p.amount("TimeoutStopUSec"),
	}
}
