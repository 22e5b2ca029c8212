package vm

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// A child is a process on the host. If our process dies, the kernel kills the child.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once the process was reaped
	err  error         // result of Wait, valid once done is closed
}

// startChild starts cmd, which must have a SysProcAttr, and waits in a goroutine until the process
// ends. When the thread that started the process ends, the kernel kills the process. The goroutine
// therefore keeps that thread until the process has ended.
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

// hasEnded reports whether the process has ended.
func (c *child) hasEnded() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// kill ends the process and waits for its end. A second call does no harm.
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
