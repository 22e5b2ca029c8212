package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	xterm "golang.org/x/term"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/terminal"
)

// How a session ended, where that is not with the status of its command.
var (
	errDetached = errors.New("detached")
	errCut      = errors.New("the connection to the job ended")
)

// session is one connection with the holder of a job's terminal.
type session struct {
	conn *os.File
	tty  bool // this side is a terminal, which is raw meanwhile

	mu sync.Mutex // orders what is sent
}

// greet connects with the holder of a job's terminal and says what is wanted.
func (a *app) greet(j api.Job, argv []string) (*session, error) {
	conn, err := terminal.Dial(j.ID.String(), j.UID)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, tty: term.IsTerminal(os.Stdin) && term.IsTerminal(os.Stdout)}
	hello := terminal.Greeting{Argv: bytesOf(argv)}
	if s.tty {
		hello.Cols, hello.Rows = terminalSize()
		hello.Term = a.getenv("TERM")
	}
	content, err := json.Marshal(hello)
	if err == nil && len(content) > 60_000 {
		err = usagef("the command has more bytes than can be sent: put it in a script")
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
	detached := make(chan struct{})
	if s.tty {
		old, err := xterm.MakeRaw(int(os.Stdin.Fd()))
		if err != nil {
			return 0, err
		}
		defer xterm.Restore(int(os.Stdin.Fd()), old)
		resized := make(chan os.Signal, 1)
		signal.Notify(resized, syscall.SIGWINCH)
		defer signal.Stop(resized)
		go s.passSize(resized)
	}
	go s.passInput(os.Stdin, detached)
	status, err = s.show(os.Stdout, os.Stderr)
	select {
	case <-detached:
		return 0, errDetached
	default:
		return status, err
	}
}

// passSize tells the holder of each new size.
func (s *session) passSize(resized <-chan os.Signal) {
	for range resized {
		cols, rows := terminalSize()
		if s.send(terminal.Size, terminal.EncodeSize(rows, cols)) != nil {
			return
		}
	}
}

// passInput passes on what is typed. Ctrl-P Ctrl-Q in a terminal ends the session.
func (s *session) passInput(in io.Reader, detached chan<- struct{}) {
	var keys detachKeys
	b := make([]byte, 4096)
	for {
		n, err := in.Read(b)
		content, leave := b[:n], false
		if s.tty {
			content, leave = keys.pass(content)
		}
		if len(content) > 0 && s.send(terminal.Data, content) != nil {
			return
		}
		if leave {
			close(detached)
			s.conn.Close()
			return
		}
		if err != nil {
			if !s.tty {
				_ = s.send(terminal.EOF, nil)
			}
			return
		}
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
		case kind == terminal.Refused:
			return 0, usagef("the job refuses: %s", term.Clean(string(content)))
		}
		if err != nil {
			return 0, err
		}
	}
}
