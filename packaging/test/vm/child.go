package vm

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// A child is a process on the host that must not outlive us: the kernel kills it when we die.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended and was reaped
	err  error         // of Wait; read it after done
}

// startChild starts cmd, which has a SysProcAttr, and reaps it. The death signal is sent when the thread that started
// the process ends, so one goroutine keeps that thread until the process is gone; it ends with the process.
func startChild(cmd *exec.Cmd) (*child, error) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	c := &child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.err = cmd.Wait()
			close(c.done)
		}
	}()
	return c, <-started
}

// ended reports whether the process is gone.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// kill ends the process and waits until it is gone. Safe to call again.
func (c *child) kill() error {
	c.cmd.Process.Kill()
	ctx, stop := await.For(context.Background(), fmt.Sprintf("the end of %s, process %d, after SIGKILL", c.cmd.Path,
		c.cmd.Process.Pid), killLimit)
	defer stop()
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
