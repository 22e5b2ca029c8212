package systemd

import (
	"context"
	"fmt"

	sddbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units"
)

// AllowDevices opens devices to the processes of the named unit, or closes them. If the unit has a
// slice of its own, the slice has the device filter, also for the containers in it. Descriptors that
// the processes have opened keep working. A unit without a filter is left as it is. The error is
// units.ErrAbsent if there is no such unit. systemd keeps the change through reloads.
func (m *Manager) AllowDevices(ctx context.Context, name string, devices []cgroup.Device, open bool) error {
	l, err := m.linkFor("set devices of", name)
	if err != nil {
		return err
	}
	there, err := unitThere(ctx, l, name)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("set devices of unit %q: %w", name, units.ErrAbsent)
	}
	filtered, iface := m.slices.of(name), sliceIface
	if len(filtered) == 0 {
		filtered, iface = []string{name}, serviceIface
	}
	for _, one := range filtered {
		if err := allowDevices(ctx, l, one, iface, devices, open); err != nil {
			return wrap("set devices of unit", one, err)
		}
	}
	return nil
}

// allowDevices replaces the unit's list of devices. systemd appends to the list, so an empty list
// comes first. Both are in one call, so that no device is closed in between.
func allowDevices(ctx context.Context, l *link, unit, iface string, devices []cgroup.Device, open bool) error {
	p, err := l.properties(ctx, objectPath(unit), iface, "DevicePolicy", "DeviceAllow")
	if err != nil || get[string](p, "DevicePolicy") == "auto" {
		return err
	}
	var has []units.DeviceAllow
	if err := p["DeviceAllow"].Store(&has); err != nil {
		return err
	}
	props := []sddbus.Property{
		{Name: "DeviceAllow", Value: dbus.MakeVariant([]units.DeviceAllow{})},
		{Name: "DeviceAllow", Value: dbus.MakeVariant(units.ChangeDevices(has, devices, open, iface == sliceIface))},
	}
	if err := l.manager(ctx, "SetUnitProperties", unit, true, props).Err; err != nil {
		return err
	}
	_, err = l.properties(ctx, objectPath(unit), iface, "DevicePolicy") // answered after the filter has changed
	return err
}
