package systemd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// StartSiteUnit starts a unit of the site, not a job's, and waits until it has started. A quick
// unit may already have ended when StartSiteUnit returns. A unit that takes longer than ctx counts
// as started. An active unit is left as it is.
func (m *Manager) StartSiteUnit(ctx context.Context, name string) error {
	if _, ok := units.ParseName(name); ok || strings.ContainsAny(name, "/ \n\x00") {
		return fmt.Errorf("start unit %q: not a unit of the site's", name)
	}
	l, err := m.current()
	if err != nil {
		return fmt.Errorf("start unit %q: %w", name, err)
	}
	w := m.waiters.enter(name, false)
	defer m.waiters.leave(name, w)
	var job dbus.ObjectPath
	if err := l.manager(ctx, "StartUnit", name, "fail").Store(&job); err != nil {
		return wrap("start unit", name, err)
	}
	switch _, err := m.await(ctx, l, w, job); {
	case errors.Is(err, context.DeadlineExceeded):
		return nil
	case err != nil:
		return wrap("start unit", name, err)
	}
	p, err := l.properties(ctx, objectPath(name), unitIface, "ActiveState")
	if err != nil {
		return wrap("state of unit", name, err)
	}
	if get[string](p, "ActiveState") == units.ActiveFailed {
		return fmt.Errorf("start unit %q: %w", name, units.ErrFailed)
	}
	return nil
}
