package systemd

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

// Inhibitor is an inhibitor lock of logind. It stays in force until it is closed or the process
// ends.
type Inhibitor struct{ pipe *os.File }

// Inhibit takes an inhibitor lock of logind in mode block. The first string lists the operations
// that the lock blocks, such as "sleep:idle". The bus connection can end with this call, because
// the lock is an open file.
func Inhibit(ctx context.Context, what, why string) (*Inhibitor, error) {
	return inhibit(ctx, DefaultAddress, what, why)
}

func inhibit(ctx context.Context, address, what, why string) (*Inhibitor, error) {
	conn, err := dbus.Dial(address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // because the handshake takes no context
	defer stop()
	if err := conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))}); err != nil {
		return nil, fmt.Errorf("authentication: %w", err)
	}
	if err := conn.Hello(); err != nil {
		return nil, fmt.Errorf("hello: %w", err)
	}
	var fd dbus.UnixFD
	logind := conn.Object("org.freedesktop.login1", "/org/freedesktop/login1")
	err = logind.CallWithContext(ctx, "org.freedesktop.login1.Manager.Inhibit", 0, what, "gpusched", why, "block").Store(&fd)
	if err != nil {
		return nil, fmt.Errorf("logind: %w", err)
	}
	return &Inhibitor{os.NewFile(uintptr(fd), "inhibitor")}, nil
}

// Held reports whether logind still has the other end of the lock. A logind that has ended no
// longer has it.
func (i *Inhibitor) Held() bool {
	poll := []unix.PollFd{{Fd: int32(i.pipe.Fd())}}
	n, err := unix.Poll(poll, 0)
	return err != nil || n == 0
}

// Close releases the lock.
func (i *Inhibitor) Close() { i.pipe.Close() }
