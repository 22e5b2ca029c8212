package hold

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/terminal"
)

// hangUpTime is the time that an extra command gets before it is killed, after its client has left
// or the job has ended.
const hangUpTime = 2 * time.Second

// An extraCommand is a command that a client runs while the job's command runs, in the same
// environment and directory. As a child of the holder, it is in the job's control group and under
// the job's device filter. If its client reads slowly, an extra command waits when it writes, as it
// would with a pipe. The job's command does not wait for slow clients.
type extraCommand struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  []*os.File     // what the command prints
	gone chan struct{}  // closed when the command has ended
	read sync.WaitGroup // the readers of the output
}

// runFor runs the command of a greeting. When the client leaves or the job ends, runFor sends the
// command a SIGHUP.
func (h *holder) runFor(conn *os.File, c *client, hello terminal.Greeting) {
	written := make(chan struct{})
	go func() { writeFrames(conn, c, 0); close(written) }()
	b, err := h.enter(func() (*extraCommand, error) { return h.begin(c, hello) })
	if err != nil {
		c.pieces <- terminal.Encode(terminal.Refused, []byte("the command could not be run: "+err.Error()))
	} else {
		go b.serve(conn)
		b.wait()
		h.leave(b)
		status := statusOf(b.cmd.ProcessState.Sys().(syscall.WaitStatus))
		c.pieces <- terminal.Encode(terminal.Ended, []byte{byte(status)})
	}
	close(c.pieces)
	<-written
}

// wait returns when the command has ended and its client has its output. If the command left
// processes behind, their later output is dropped.
func (b *extraCommand) wait() {
	_ = b.cmd.Wait()
	close(b.gone)
	for _, f := range b.out {
		_ = f.SetReadDeadline(time.Now().Add(leftOpen))
	}
	b.read.Wait()
	b.in.Close()
}

// serve gives the command its client's input. When the client leaves, serve sends the command a
// SIGHUP, and later kills it.
func (b *extraCommand) serve(conn io.Reader) {
	copyInput(conn, b.in)
	b.hangUp()
	select {
	case <-b.gone:
	case <-time.After(hangUpTime):
		b.signal(syscall.SIGKILL)
	}
}

// hangUp tells the command by SIGHUP that its terminal is gone. It also continues the command,
// because a stopped command could not end.
func (b *extraCommand) hangUp() { b.signal(syscall.SIGHUP, syscall.SIGCONT) }

func (b *extraCommand) signal(list ...syscall.Signal) {
	select {
	case <-b.gone:
		return
	default:
	}
	for _, s := range list {
		_ = unix.Kill(-b.cmd.Process.Pid, s)
	}
}

// begin starts the command, in a terminal if the client has one.
func (h *holder) begin(c *client, hello terminal.Greeting) (*extraCommand, error) {
	tty := hello.Rows > 0 && hello.Cols > 0
	argv, environ := slices.Clone(h.before), slices.Clone(h.environ)
	if h.inside != nil {
		enter, env := h.inside(tty, hello.Term)
		argv, environ = append(argv, enter...), slices.Clone(env)
	}
	for _, arg := range hello.Argv {
		argv = append(argv, string(arg))
	}
	if hello.Term != "" {
		environ = append(environ, "TERM="+hello.Term)
	}
	if !tty {
		return startPiped(c, command(argv, environ))
	}
	cmd, master, err := inTerminal(argv, environ, pty.Winsize{Rows: hello.Rows, Cols: hello.Cols})
	b := &extraCommand{cmd: cmd, in: master, gone: make(chan struct{})}
	if err == nil {
		b.copyTo(c, terminal.Data, master)
	}
	return b, err
}

// startPiped starts a command without a terminal, in a session of its own.
func startPiped(c *client, cmd *exec.Cmd) (*extraCommand, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	b := &extraCommand{cmd: cmd, in: in, gone: make(chan struct{})}
	out, outEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	errors, errorsEnd, err := os.Pipe()
	if err == nil {
		cmd.Stdout, cmd.Stderr = outEnd, errorsEnd
		err = cmd.Start()
		errorsEnd.Close()
	}
	outEnd.Close()
	if err != nil {
		for _, f := range []io.Closer{in, out, errors} {
			f.Close()
		}
		return nil, err
	}
	b.copyTo(c, terminal.Data, out)
	b.copyTo(c, terminal.Errors, errors)
	return b, nil
}

// copyTo starts to send a command's output to a client.
func (b *extraCommand) copyTo(c *client, kind terminal.Kind, from *os.File) {
	b.out = append(b.out, from)
	b.read.Go(func() {
		defer from.Close()
		copyOutput(from, func(piece []byte) { c.pieces <- terminal.Encode(kind, piece) })
	})
}

// copyInput gives a command its client's input, until the client leaves.
func copyInput(conn io.Reader, in io.WriteCloser) {
	for {
		kind, content, err := terminal.Read(conn)
		if err != nil {
			return
		}
		switch rows, cols, ok := terminal.DecodeSize(content); {
		case kind == terminal.Data:
			_, _ = in.Write(content)
		case kind == terminal.EOF:
			in.Close()
		case kind == terminal.Size && ok:
			if master, has := in.(*os.File); has {
				setSize(master, rows, cols)
			}
		default:
			return
		}
	}
}
