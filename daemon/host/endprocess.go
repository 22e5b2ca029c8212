package host

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
)

// EndProcess sends a signal to a process. It uses a process descriptor, opened by os.FindProcess,
// so that the signal can't hit a new process that gets the same pid after the owner was checked. A
// process that has already ended causes no error. A foreign process is left alone if it now belongs
// to a job.
func EndProcess(a core.EndProcess) error {
	p, err := os.FindProcess(a.PID)
	if err != nil {
		return fmt.Errorf("find process %d: %w", a.PID, err)
	}
	defer func() { _ = p.Release() }()
	o := gpu.OwnerOf("/proc", a.PID)
	if a.Start == 0 || o.Start != a.Start || o.UID != a.UID || a.Job == 0 && isProtected(&o) {
		return nil
	}
	if err := p.Signal(syscall.Signal(a.Signal)); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", a.PID, err)
	}
	return nil
}

// isProtected reports whether a process must not be ended as a stranger.
func isProtected(o *gpu.Owner) bool {
	return o.UID == 0 || strings.HasPrefix(o.Unit, contract.UnitPrefix)
}
