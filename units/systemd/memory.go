package systemd

import (
	"context"
	"fmt"

	sddbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// SetMemory changes the memory limit of the named unit, and of the slice of a unit that has its
// own. Above the amount high, the kernel slows the unit down. 0 means that there is no such limit.
// The error is units.ErrAbsent if there is no such unit. systemd keeps the limits through reloads.
func (m *Manager) SetMemory(ctx context.Context, name string, limit, high int64) error {
	l, err := m.linkFor("set memory of", name)
	if err != nil {
		return err
	}
	var props []sddbus.Property
	for _, p := range units.MemoryProperties(limit, high) {
		props = append(props, sddbus.Property{Name: p.Name, Value: dbus.MakeVariant(p.Value)})
	}
	for _, one := range append(m.slices.of(name), name) {
		err := l.manager(ctx, "SetUnitProperties", one, true, props).Err
		switch {
		case code(err) == errNoSuchUnit && one == name:
			return fmt.Errorf("set memory of unit %q: %w", name, units.ErrAbsent)
		case err != nil && code(err) != errNoSuchUnit:
			return wrap("set memory of unit", one, err)
		}
	}
	return nil
}
