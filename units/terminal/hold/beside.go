package hold

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/terminal"
)

// beside is a command that a client runs beside the job's: in its environment and
// directory and, as a child of the holder, in its control group and device filter.
type beside struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	read sync.WaitGroup // readers of what it prints
}

// runFor runs the command of a greeting, and hangs up on it when the client goes.
func (h *holder) runFor(conn *os.File, c *client, hello terminal.Greeting) {
	poured := make(chan struct{})
	go func() { pour(conn, c); close(poured) }()
	b, err := h.begin(c, hello)
	if err != nil {
		c.pieces <- terminal.Encode(terminal.Refused, []byte("the command could not be run: "+err.Error()))
	} else {
		ended := make(chan struct{})
		go func() {
			typed(conn, b.in)
			select {
			case <-ended:
			default:
				_ = unix.Kill(-b.cmd.Process.Pid, syscall.SIGHUP)
			}
		}()
		b.read.Wait()
		_ = b.cmd.Wait()
		close(ended)
		status := statusOf(b.cmd.ProcessState.Sys().(syscall.WaitStatus))
		c.pieces <- terminal.Encode(terminal.Ended, []byte{byte(status)})
	}
	close(c.pieces)
	<-poured
}

// begin starts the command, in a terminal where the client has one.
func (h *holder) begin(c *client, hello terminal.Greeting) (*beside, error) {
	argv := make([]string, len(hello.Argv))
	for i, arg := range hello.Argv {
		argv[i] = string(arg)
	}
	environ := slices.Clone(h.environ)
	if hello.Term != "" {
		environ = append(environ, "TERM="+hello.Term)
	}
	if hello.Rows == 0 || hello.Cols == 0 {
		return piped(c, command(argv, environ))
	}
	cmd, master, err := inTerminal(argv, environ, pty.Winsize{Rows: hello.Rows, Cols: hello.Cols})
	b := &beside{cmd: cmd, in: master}
	if err == nil {
		b.read.Go(func() { copyTo(c, terminal.Data, master) })
	}
	return b, err
}

// piped starts a command without a terminal, in a session of its own.
func piped(c *client, cmd *exec.Cmd) (*beside, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	errors, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b := &beside{cmd: cmd, in: in}
	b.read.Go(func() { copyTo(c, terminal.Data, out) })
	b.read.Go(func() { copyTo(c, terminal.Errors, errors) })
	return b, nil
}

// copyTo sends a client what a command prints.
func copyTo(c *client, kind terminal.Kind, from io.Reader) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if n > 0 {
			c.pieces <- terminal.Encode(kind, b[:n])
		}
		if err != nil {
			return
		}
	}
}

// typed gives a command what its client sends, until the client goes.
func typed(conn io.Reader, in io.WriteCloser) {
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
				_ = pty.Setsize(master, &pty.Winsize{Rows: rows, Cols: cols})
			}
		default:
			return
		}
	}
}
