package systemd

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	logindName  = "org.freedesktop.login1"
	logindPath  = "/org/freedesktop/login1"
	logindIface = "org.freedesktop.login1.Manager"
)

// dialBus opens a connection to a bus for a few calls to logind.
func dialBus(ctx context.Context, address string) (*dbus.Conn, error) {
	conn, err := dbus.Dial(address, dbus.WithContext(ctx)) // the handshake itself takes no context
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	if err := conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))}); err != nil {
		conn.Close()
		return nil, fmt.Errorf("authentication: %w", err)
	}
	if err := conn.Hello(); err != nil {
		conn.Close()
		return nil, fmt.Errorf("hello: %w", err)
	}
	return conn, nil
}

// callLogind calls logind without starting it: where logind is masked, each start would be a line
// in the journal.
func callLogind(ctx context.Context, conn *dbus.Conn, method string, args ...any) *dbus.Call {
	return conn.Object(logindName, logindPath).CallWithContext(ctx, logindIface+"."+method, dbus.FlagNoAutoStart, args...)
}

// ScheduledShutdown returns the kind of shutdown that logind has scheduled, such as "reboot", and
// its time. A zero time means that there is none. A rehearsal ("dry-reboot") counts as none.
func ScheduledShutdown(ctx context.Context) (how string, at time.Time, err error) {
	return scheduledShutdown(ctx, DefaultAddress)
}

func scheduledShutdown(ctx context.Context, address string) (how string, at time.Time, err error) {
	conn, err := dialBus(ctx, address)
	if err != nil {
		return "", time.Time{}, err
	}
	defer conn.Close()
	var v dbus.Variant
	const get = propertyIface + ".Get"
	call := conn.Object(logindName, logindPath).CallWithContext(ctx, get, dbus.FlagNoAutoStart, logindIface, "ScheduledShutdown")
	var s struct {
		How  string
		Usec uint64
	}
	if err := call.Store(&v); err != nil {
		return "", time.Time{}, fmt.Errorf("logind: %w", err)
	}
	if err := v.Store(&s); err != nil {
		return "", time.Time{}, fmt.Errorf("logind: %w", err)
	}
	if s.How == "" || strings.HasPrefix(s.How, "dry-") || s.Usec == 0 || s.Usec > math.MaxInt64 {
		return "", time.Time{}, nil
	}
	return s.How, time.UnixMicro(int64(s.Usec)), nil
}

// Reboot reboots the machine, unless another program has a lock of logind that forbids it. The
// users see the argument why on their terminals.
func Reboot(ctx context.Context, why string) error { return reboot(ctx, DefaultAddress, why) }

func reboot(ctx context.Context, address, why string) error {
	conn, err := dialBus(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	var locks []struct {
		What, Who, Why, Mode string
		UID, PID             uint32
	}
	if err := callLogind(ctx, conn, "ListInhibitors").Store(&locks); err != nil {
		return fmt.Errorf("logind: %w", err)
	}
	for _, l := range locks { // before systemd 257, logind itself does not ask root to respect them
		if l.Mode == "block" && slices.Contains(strings.Split(l.What, ":"), "shutdown") {
			return fmt.Errorf("%s (pid %d) holds it up: %s", l.Who, l.PID, l.Why)
		}
	}
	callLogind(ctx, conn, "SetWallMessage", why, true) // an error only means that users are not told why
	if err := callLogind(ctx, conn, "Reboot", false).Err; err != nil {
		return fmt.Errorf("logind: %w", err)
	}
	return nil
}
