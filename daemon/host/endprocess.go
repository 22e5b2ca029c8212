package host

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/gpu"
)

// EndProcess sends a signal to a process. It uses a process descriptor, opened by os.FindProcess,
// so that the signal can't hit a new process that gets the same pid after the owner was checked. A
// process that has already ended causes no error.
func EndProcess(a core.EndProcess) error {
	p, err := os.FindProcess(a.PID)
	if err != nil {
		return fmt.Errorf("find process %d: %w", a.PID, err)
	}
	defer func() { _ = p.Release() }()
	if o := gpu.OwnerOf("/proc", a.PID); a.Start == 0 || o.Start != a.Start || o.UID != a.UID {
		return nil
	}
	if err := p.Signal(syscall.Signal(a.Signal)); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", a.PID, err)
	}
	return nil
}
