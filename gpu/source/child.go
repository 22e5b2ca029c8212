package source

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// endGrace is the time for which end waits for a killed child: long enough to learn how the child
// ended, and short enough not to matter.
const endGrace = time.Second

const endedWell = " (exit status 0)"

// A child is a process with the pipes to it.
type child struct {
	pid           int
	kill          func()
	stdin, stdout *os.File
	lines         *bufio.Reader
	partial       []byte // beginning of an answer whose Sample ended before the rest arrived

	pending uint64        // seq of the unanswered request, 0 for none
	since   time.Time     // when the pending request was sent
	looked  time.Duration // time spent on reading after the timeout of the pending request

	ended     chan struct{} // closed when the child was reaped
	how       string        // how it ended, valid after ended
	logClosed chan struct{} // closed when its stderr is no longer read
	lastLine  string        // last line of its stderr, valid after logClosed
	closeLog  func()        // closes its stderr
}

// start runs the program with three pipes. A goroutine waits for the process and keeps its thread:
// if that thread ended, the kernel would send the child the parent death signal.
func start(o Options, log *childLog) (*child, error) {
	cmd := exec.Command(o.Path, o.Args...)
	cmd.Dir, cmd.Env = "/", o.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var p pipes
	defer p.closeTheirs()
	if err := p.open(cmd); err != nil {
		p.closeOurs()
		return nil, err
	}
	c := &child{ended: make(chan struct{}), logClosed: make(chan struct{}), stdin: p.ours[0], stdout: p.ours[1]}
	c.lines = newLines(c.stdout)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(c.ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // its error is in the state
			c.how = describe(cmd.ProcessState)
		}
	}()
	if err := <-started; err != nil {
		p.closeOurs()
		return nil, err
	}
	c.pid, c.kill = cmd.Process.Pid, func() { _ = cmd.Process.Kill() } // an error means that the child has ended
	stderr := p.ours[2]
	c.closeLog = func() { _ = stderr.Close() }
	go func() {
		defer close(c.logClosed)
		c.lastLine = log.logLines(stderr, c.pid)
	}()
	return c, nil
}

func newLines(r io.Reader) *bufio.Reader {
	return bufio.NewReaderSize(r, 64<<10)
}

// pipes for stdin, stdout and stderr.
type pipes struct {
	ours, theirs [3]*os.File
}

func (p *pipes) open(cmd *exec.Cmd) error {
	for i := range p.ours {
		r, w, err := os.Pipe()
		if err != nil {
			return fmt.Errorf("making a pipe: %w", err)
		}
		p.ours[i], p.theirs[i] = r, w
	}
	p.ours[0], p.theirs[0] = p.theirs[0], p.ours[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.theirs[0], p.theirs[1], p.theirs[2]
	return nil
}

func (p *pipes) closeOurs()   { closeAll(p.ours[:]) }
func (p *pipes) closeTheirs() { closeAll(p.theirs[:]) }

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

func describe(state *os.ProcessState) string {
	how := " (" + state.String() + ")"
	if state.ExitCode() == 127 {
		how += "; a function may be missing in the NVIDIA library, see \"gpusched-nvml --census\""
	}
	return how
}

// end kills the child and closes its pipes. It waits up to endGrace for the child's end and last
// output, and reports whether the child has ended. If not, the goroutine that waits for the child
// stays until the child ends.
func (c *child) end() bool {
	c.kill()
	_ = c.stdin.Close()
	_ = c.stdout.Close()
	timer := time.NewTimer(endGrace)
	defer timer.Stop()
	select {
	case <-c.ended:
		select {
		case <-c.logClosed:
		case <-timer.C:
		}
	case <-timer.C:
	}
	c.closeLog()
	<-c.logClosed
	return c.hasEnded()
}

func (c *child) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// isGone reports whether an error of a pipe means that the child has closed it.
func isGone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
