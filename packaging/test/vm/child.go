package vm

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// A child is a process on the host that the kernel kills when this process dies.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once the process was reaped
	err  error         // result of Wait; valid after done
}

// startChild starts cmd, which must have a SysProcAttr, and reaps it. The kernel sends the death
// signal when the thread that started the process ends, so one goroutine keeps that thread until
// the process has ended.
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

// ended reports whether the process has ended.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// kill ends the process and waits for its end. It is safe to call again.
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
