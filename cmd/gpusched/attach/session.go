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
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/terminal"
)

// How a session ended, where that is not with the status of its command.
var (
	errDetached = errors.New("detached")
	errCut      = errors.New("the connection to the job ended")
)

// session is one connection with the holder of a job's terminal.
type session struct {
	conn     *os.File
	tty      bool // this side is a terminal, which is raw meanwhile
	harmless bool // what comes is another user's, of which only text reaches a terminal
	keys     detachKeys
	detached chan struct{}
	leave    sync.Once // closes detached

	mu sync.Mutex // orders what is sent
}

// visit is what somebody wants of a job's terminal.
type visit struct {
	argv []string // a command to run beside the job's; none: the job's own terminal
	raw  bool     // another user's job may send our terminal what it likes
}

// greet connects with the holder of a job's terminal and says what is wanted. The size
// of a terminal is the owner's to choose.
func greet(a *cli.App, j api.Job, v visit) (*session, error) {
	conn, err := terminal.Dial(cli.TerminalOf(j), j.UID)
	if err != nil {
		return nil, err
	}
	s := &session{
		conn: conn, tty: term.IsTerminal(os.Stdin) && term.IsTerminal(os.Stdout),
		harmless: !a.Owns(&j) && !v.raw, detached: make(chan struct{}),
	}
	hello := terminal.Greeting{Argv: cli.Each(v.argv, func(s string) []byte { return []byte(s) })}
	if s.tty && (!s.harmless || len(v.argv) > 0) {
		hello.Cols, hello.Rows = terminalSize()
		hello.Term = a.Getenv("TERM")
	}
	content, err := json.Marshal(hello)
	if err == nil && len(content) > 60_000 {
		err = cli.Usagef("the command has more bytes than can be sent: put it in a script")
	}
	if err == nil {
		err = s.send(terminal.Hello, content)
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

// run passes on what is typed and shown until the command has ended, whose status it
// returns, or the session has in another way.
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
	typing.to(s)
	defer typing.to(nil)
	status, err = s.show(out, s.writer(os.Stderr))
	select {
	case <-s.detached:
		return 0, errDetached
	default:
		return status, err
	}
}

// writer is an output of ours, without what a terminal acts on where the job is
// another's.
func (s *session) writer(f *os.File) io.Writer {
	if s.harmless && term.IsTerminal(f) {
		return term.Harmless(f)
	}
	return f
}

// lastReports is how long a terminal has to stop sending what nobody typed.
const lastReports = 50 * time.Millisecond

// enterRaw makes our terminal raw. leave has it as it was, and drops what was typed for
// the job or reported by the terminal and not read: it is not for the shell.
func enterRaw(modes *term.Modes) (leave func(), err error) {
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

// passSize tells the holder of each new size.
func (s *session) passSize(resized <-chan os.Signal) {
	for range resized {
		if s.harmless {
			continue
		}
		cols, rows := terminalSize()
		if s.send(terminal.Size, terminal.EncodeSize(rows, cols)) != nil {
			return
		}
	}
}

// keyboard is our standard input, read by one goroutine however many sessions there are
// one after the other. What is typed between them is for nobody.
type keyboard struct {
	reading sync.Once
	mu      sync.Mutex // guards what follows
	now     *session
	ended   bool // there is no more input
}

var typing keyboard

// to makes a session the one for which is typed, nil none.
func (k *keyboard) to(s *session) {
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
			s.typed(b[:n], err != nil)
		}
	}
}

// typed passes on what is typed. Ctrl-P Ctrl-Q in a terminal ends the session.
func (s *session) typed(content []byte, last bool) {
	leave := false
	if s.tty {
		content, leave = s.keys.pass(content)
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

// noInput says that nothing more is typed.
func (s *session) noInput() {
	if !s.tty {
		_ = s.send(terminal.EOF, nil)
	}
}

// detachKeys finds Ctrl-P Ctrl-Q in what is typed. The first of them waits for the next
// key.
type detachKeys struct{ held bool }

const (
	ctrlP = 'P' & 0x1f
	ctrlQ = 'Q' & 0x1f
)

// pass returns what is for the job, and whether the keys to detach came.
func (d *detachKeys) pass(typed []byte) (content []byte, leave bool) {
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

// show prints what comes from the holder, to the end of the session.
func (s *session) show(out, errors io.Writer) (status int, err error) {
	for {
		kind, content, err := terminal.Read(s.conn)
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
