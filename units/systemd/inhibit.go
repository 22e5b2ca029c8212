package systemd

import (
	"context"
	"fmt"
	"os"

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
	conn, err := dialBus(ctx, address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var fd dbus.UnixFD
	if err := callLogind(ctx, conn, "Inhibit", what, "gpusched", why, "block").Store(&fd); err != nil {
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
