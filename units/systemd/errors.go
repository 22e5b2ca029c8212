package systemd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// The errors of systemd that matter here.
const (
	errNoSuchUnit   = "org.freedesktop.systemd1.NoSuchUnit"
	errNoProcess    = "org.freedesktop.systemd1.NoSuchProcess"
	errNoSuchJob    = "org.freedesktop.systemd1.NoSuchJob"
	errUnitExists   = "org.freedesktop.systemd1.UnitExists"
	errPropReadOnly = "org.freedesktop.DBus.Error.PropertyReadOnly"
	errShuttingDown = "org.freedesktop.systemd1.ShuttingDown"
	errNoProperty   = "org.freedesktop.DBus.Error.UnknownProperty"
	errNoObject     = "org.freedesktop.DBus.Error.UnknownObject"

	// A queued systemd job conflicts with another one, mostly with the job of a shutdown.
	errDestructive = "org.freedesktop.systemd1.TransactionIsDestructive"
	errConflicting = "org.freedesktop.systemd1.TransactionJobsConflicting"
)

// code returns the D-Bus name of err, or "" if it has none because the connection failed or the
// context ended.
func code(err error) string {
	var d dbus.Error
	if errors.As(err, &d) {
		return d.Name
	}
	var p *dbus.Error
	if errors.As(err, &p) {
		return p.Name
	}
	return ""
}

// isTemporary reports whether an error of this name is temporary: the bus answered because systemd
// is not there at the moment, or systemd can't do what was asked right now.
func isTemporary(name string) bool {
	switch name {
	case "org.freedesktop.DBus.Error.NoReply",
		"org.freedesktop.DBus.Error.Timeout",
		"org.freedesktop.DBus.Error.TimedOut",
		"org.freedesktop.DBus.Error.Disconnected",
		"org.freedesktop.DBus.Error.NoServer",
		"org.freedesktop.DBus.Error.NameHasNoOwner",
		"org.freedesktop.DBus.Error.ServiceUnknown",
		"org.freedesktop.DBus.Error.LimitsExceeded",
		"org.freedesktop.DBus.Error.NoMemory",
		errShuttingDown:
		return true
	}
	return strings.HasPrefix(name, "org.freedesktop.DBus.Error.Spawn.")
}

// wrap adds to an error the action that was tried. If the error is not systemd's answer, it adds
// that the outcome is unknown.
func wrap(action, name string, err error) error {
	if c := code(err); c == "" || isTemporary(c) {
		return fmt.Errorf("%s %q: %w: %w", action, name, units.ErrBus, err)
	}
	return fmt.Errorf("%s %q: %w", action, name, err)
}
