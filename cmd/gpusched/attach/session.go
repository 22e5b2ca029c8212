package attach

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	xterm "golang.org/x/term"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/terminal"
)

// These errors are for sessions that end without an exit status.
var (
	errDetached = errors.New("detached")
	errCut      = errors.New("the connection to the job ended")
)

// A session is a connection to the launcher that holds a job's terminal.
type session struct {
	conn     *os.File
	tty      bool // standard input and output are a terminal, which is in raw mode during the session
	filtered bool // filter escape sequences out of another user's output
	keys     detachKeys
	shown    bool // something was printed
	detached chan struct{}
	leave    sync.Once // closes the channel detached

	mu sync.Mutex // serializes writes
}

// sessionOptions say what a session does in a job's unit.
type sessionOptions struct {
	argv []string // a second command to run in the job; nil: use the job's terminal
	raw  bool     // do not filter another user's output
}

// connect connects to the launcher and sends the options. Only the job's owner sets the size of the
// job's terminal.
func connect(a *cli.App, j api.Job, v sessionOptions) (*session, error) {
	conn, err := terminal.Dial(cli.TerminalOf(j), j.UID)
	if err != nil {
		return nil, err
	}
	s := &session{
		conn: conn, tty: term.IsTerminal(os.Stdin) && term.IsTerminal(os.Stdout),
		filtered: !a.Owns(&j) && !v.raw, detached: make(chan struct{}),
	}
	hello := terminal.Greeting{Argv: job.Each(v.argv, func(s string) []byte { return []byte(s) })}
	if s.tty && (!s.filtered || len(v.argv) > 0) {
		hello.Cols, hello.Rows = terminalSize()
		hello.Term = a.Getenv("TERM")
	}
	content, err := json.Marshal(hello)
	if err == nil && len(content) > 60_000 {
		err = cli.Usagef("the command is too long to send: put it in a script")
	}
	if err == nil && s.send(terminal.Hello, content) != nil {
		err = terminal.ErrNone // the launcher has ended meanwhile
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

func terminalSize() (cols, rows uint16) {
	w, h, err := xterm.GetSize(int(os.Stdout.Fd()))
	if err != nil || w <= 0 || h <= 0 || w > 1<<16-1 || h > 1<<16-1 {
		return 80, 24
	}
	return uint16(w), uint16(h)
}

func (s *session) send(k terminal.Kind, content []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.conn.Write(terminal.Encode(k, content))
	return err
}

// run passes on input and output until the session ends. It returns the command's status.
func (s *session) run(ctx context.Context) (status int, err error) {
	defer s.conn.Close()
	stop := context.AfterFunc(ctx, func() { s.conn.Close() })
	defer stop()
	out := s.writer(os.Stdout)
	if s.tty {
		modes := &term.Modes{W: out}
		out = modes
		leave, err := enterRaw(modes)
		if err != nil {
			return 0, err
		}
		defer leave()
		resized := make(chan os.Signal, 1)
		signal.Notify(resized, syscall.SIGWINCH)
		defer signal.Stop(resized)
		go s.passSize(resized)
	}
	typing.sendTo(s)
	defer typing.sendTo(nil)
	status, err = s.showOutput(out, s.writer(os.Stderr))
	select {
	case <-s.detached:
		return 0, errDetached
	default:
		return status, err
	}
}

// writer returns f. For another user's output it returns a filter instead. The filter removes
// everything that a terminal would act on, and writes the rest to f.
func (s *session) writer(f *os.File) io.Writer {
	if s.filtered && term.IsTerminal(f) {
		return term.Harmless(f)
	}
	return f
}

// lastReports is how long a terminal may still send reports, such as its cursor position, after the
// session has ended.
const lastReports = 50 * time.Millisecond

// enterRaw puts the terminal into raw mode. It returns a function that restores the old mode. That
// function also drops unread input, which was meant for the job or reported by the terminal, so
// that the shell does not get it.
func enterRaw(modes *term.Modes) (restore func(), err error) {
	in := int(os.Stdin.Fd())
	old, err := xterm.MakeRaw(in)
	if err != nil {
		return nil, err
	}
	return func() {
		talks := modes.Talks()
		_, _ = os.Stdout.WriteString(modes.Reset())
		if talks {
			time.Sleep(lastReports)
		}
		terminal.DropInput(in)
		_ = xterm.Restore(in, old)
	}, nil
}

// passSize sends the terminal's size to the job whenever it changes.
func (s *session) passSize(resized <-chan os.Signal) {
	for range resized {
		if s.filtered {
			continue
		}
		cols, rows := terminalSize()
		if s.send(terminal.Size, terminal.EncodeSize(rows, cols)) != nil {
			return
		}
	}
}

// A keyboard reads the standard input in one goroutine for all sessions, one after another. It
// drops input that arrives between two sessions.
type keyboard struct {
	reading sync.Once
	mu      sync.Mutex // guards the fields below
	now     *session
	ended   bool // the input has ended
}

var typing keyboard

// sendTo sends the input to a session. If s is nil, the input is dropped.
func (k *keyboard) sendTo(s *session) {
	k.mu.Lock()
	k.now = s
	if s != nil && k.ended {
		s.noInput()
	}
	k.mu.Unlock()
	k.reading.Do(func() { go k.read(os.Stdin) })
}

func (k *keyboard) read(in io.Reader) {
	b := make([]byte, 4096)
	for err := error(nil); err == nil; {
		var n int
		n, err = in.Read(b)
		k.mu.Lock()
		s := k.now
		k.ended = err != nil
		k.mu.Unlock()
		if s != nil {
			s.sendInput(b[:n], err != nil)
		}
	}
}

// sendInput sends input to the job. In a terminal, Ctrl-P Ctrl-Q ends the session.
func (s *session) sendInput(content []byte, last bool) {
	leave := false
	if s.tty {
		content, leave = s.keys.findDetach(content)
	}
	if len(content) > 0 && s.send(terminal.Data, content) != nil {
		return
	}
	switch {
	case leave:
		s.leave.Do(func() { close(s.detached) })
		s.conn.Close()
	case last:
		s.noInput()
	}
}

// noInput tells the launcher that the input has ended.
func (s *session) noInput() {
	if !s.tty {
		_ = s.send(terminal.EOF, nil)
	}
}

// detachKeys finds Ctrl-P Ctrl-Q in the input. It holds back a Ctrl-P until the next key.
type detachKeys struct{ held bool }

const (
	ctrlP = 'P' & 0x1f
	ctrlQ = 'Q' & 0x1f
)

// findDetach returns the input for the job, and whether the detach keys were typed.
func (d *detachKeys) findDetach(typed []byte) (content []byte, leave bool) {
	for _, key := range typed {
		switch {
		case d.held && key == ctrlQ:
			d.held = false
			return content, true
		case d.held && key == ctrlP:
			content = append(content, ctrlP)
		case key == ctrlP:
			d.held = true
		case d.held:
			content, d.held = append(content, ctrlP, key), false
		default:
			content = append(content, key)
		}
	}
	return content, false
}

// showOutput prints what the launcher sends, until the session ends.
func (s *session) showOutput(out, errors io.Writer) (status int, err error) {
	for {
		kind, content, err := terminal.Read(s.conn)
		s.shown = s.shown || err == nil
		switch {
		case err != nil:
			return 0, errCut
		case kind == terminal.Data:
			_, err = out.Write(content)
		case kind == terminal.Errors:
			_, err = errors.Write(content)
		case kind == terminal.Ended && len(content) == 1:
			return int(content[0]), nil
		case kind == terminal.Barred:
			return 0, cli.Refuse(api.CodeForbidden, contract.SandboxHint, "the job refuses: %s", term.Clean(string(content)))
		case kind == terminal.Refused:
			return 0, cli.Usagef("the job refuses: %s", term.Clean(string(content)))
		}
		if err != nil {
			return 0, err
		}
	}
}
