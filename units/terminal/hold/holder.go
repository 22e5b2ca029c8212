package hold

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/terminal"
)

const (
	// screenful is how much of what was shown a client sees that attaches.
	screenful = 16 << 10
	// stallTime is how long the command waits for a client that does not read.
	stallTime = 2 * time.Second
	// most clients at once, and pieces that wait for one of them.
	maxClients = 128
	maxPieces  = 64
)

// holder is what is known of the terminal.
type holder struct {
	before  []string // words before each command
	environ []string
	output  io.Writer     // the journal
	begun   chan struct{} // closed when the command runs, or never will
	admits  func(peer int) bool
	job     string   // its number
	name    string   // of its terminal
	screen  *session // nil: none

	sandboxed  bool // who is in a sandbox may come in
	noTerminal bool // it only runs commands beside a job's

	mu         sync.Mutex // guards what follows
	rows, cols uint16
	shown      bool     // in the session of GNU screen
	term       string   // which kind of terminal that is
	master     *os.File // nil before the command runs
	last       []byte   // what was shown last
	clients    map[*client]bool
	beside     map[*beside]bool
	ended      bool
	leaving    sync.WaitGroup // writers of clients
}

// client is one who attached, or runs a command of its own.
type client struct {
	pieces chan []byte // frames on their way; closed when no more come
}

func (h *holder) size() pty.Winsize {
	h.mu.Lock()
	defer h.mu.Unlock()
	return pty.Winsize{Rows: h.rows, Cols: h.cols}
}

// resize gives the terminal the size of the client that asked last. Where it has it
// already the programs in it are told all the same, so that they draw again.
func (h *holder) resize(rows, cols uint16) {
	h.mu.Lock()
	defer h.mu.Unlock()
	same := h.rows == rows && h.cols == cols
	h.rows, h.cols = rows, cols
	if h.master == nil {
		return
	}
	_ = pty.Setsize(h.master, &pty.Winsize{Rows: rows, Cols: cols})
	if same {
		_ = control(h.master, func(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCSIG, int(unix.SIGWINCH)) })
	}
}

// control runs a call on an open file without taking it from the runtime.
func control(f *os.File, do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil {
		return err
	}
	return failed
}

// copyFrom passes what the terminal shows to all clients and to the journal, until
// nothing has the terminal open any more. Who types waits for the clients only, and the
// journal for none of them: it has a piece before one who does not read is waited for.
func (h *holder) copyFrom(master io.Reader) {
	b := make([]byte, 32<<10)
	for {
		n, err := master.Read(b)
		if n > 0 {
			frame := terminal.Encode(terminal.Data, b[:n])
			late := h.offer(b[:n], frame)
			_, _ = h.output.Write(b[:n])
			h.awaitClients(late, frame)
		}
		if err != nil {
			return
		}
	}
}

// offer passes a piece on to every client for whose frames there is room, and returns
// the others.
func (h *holder) offer(piece, frame []byte) (late []*client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = append(h.last, piece...)
	if more := len(h.last) - screenful; more > 0 {
		h.last = append([]byte(nil), h.last[more:]...)
	}
	for c := range h.clients {
		select {
		case c.pieces <- frame:
		default:
			late = append(late, c)
		}
	}
	return late
}

// awaitClients passes a piece on to those who had no room for it. One who has not read for
// so long has stallTime, of all pieces and together with all like it (invariant 2).
func (h *holder) awaitClients(late []*client, frame []byte) {
	if len(late) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := time.NewTimer(stallTime)
	defer t.Stop()
	over := t.C
	for _, c := range late {
		if !h.clients[c] { // it has gone meanwhile
			continue
		}
		select {
		case c.pieces <- frame:
		case <-over:
			h.drop(c)
			over = closedTime // nobody else has more
		}
	}
}

// closedTime is a moment that has come.
var closedTime = func() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()

// drop lets no more reach a client; h.mu is held.
func (h *holder) drop(c *client) {
	if h.clients[c] {
		delete(h.clients, c)
		close(c.pieces)
	}
}

// attach adds a client, which is shown the last of what there was; false where there
// are too many. Its writer is begun here, so that end waits for all of them.
func (h *holder) attach(c *client, write func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended || len(h.clients) >= maxClients {
		return false
	}
	if h.clients == nil {
		h.clients = map[*client]bool{}
	}
	h.clients[c] = true
	if len(h.last) > 0 {
		c.pieces <- terminal.Encode(terminal.Data, h.lastLines())
	}
	h.leaving.Go(write)
	return true
}

// enter begins one more command beside the job's.
func (h *holder) enter(begin func() (*beside, error)) (*beside, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended || len(h.beside) >= maxClients {
		return nil, errors.New("too many run beside the job's, or that has ended")
	}
	b, err := begin()
	if err != nil {
		return nil, err
	}
	if h.beside == nil {
		h.beside = map[*beside]bool{}
	}
	h.beside[b] = true
	return b, nil
}

func (h *holder) leave(b *beside) {
	h.mu.Lock()
	delete(h.beside, b)
	h.mu.Unlock()
}

// lastLines are what was shown last, from the beginning of a line where something is
// missing; h.mu is held.
func (h *holder) lastLines() []byte {
	if at := bytes.IndexByte(h.last, '\n'); len(h.last) == screenful && at >= 0 {
		return h.last[at+1:]
	}
	return h.last
}

func (h *holder) detach(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(c)
}

// end tells all clients how the command has ended, and returns when they know. What runs
// beside it ends by that too, or is killed.
func (h *holder) end(status int) {
	h.mu.Lock()
	h.ended = true
	for b := range h.beside {
		b.hangUp()
	}
	for c := range h.clients {
		select {
		case c.pieces <- terminal.Encode(terminal.Ended, []byte{byte(status)}):
		default: // it does not read
		}
		h.drop(c)
	}
	h.mu.Unlock()
	gone := make(chan struct{})
	go func() {
		h.leaving.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(lastWords):
	}
	h.awaitBeside()
}

// journal writes lines that end as the journal wants them, not as a terminal does.
type journal struct {
	w  io.Writer
	cr bool // the last byte so far is a CR, which may belong to the end of a line
}

// Write leaves out each CR before the end of a line.
func (j *journal) Write(p []byte) (int, error) {
	text := p
	if j.cr {
		text = append([]byte{'\r'}, p...)
	}
	if j.cr = bytes.HasSuffix(text, []byte{'\r'}); j.cr {
		text = text[:len(text)-1]
	}
	_, err := j.w.Write(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	return len(p), err
}
