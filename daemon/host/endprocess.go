package host

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/gpu"
)

// EndProcess sends a signal to a process. It does so by a descriptor of the process, which
// os.FindProcess opens: no other process can get the pid between the check of the owner and the
// signal. A process that has ended is not an error.
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
