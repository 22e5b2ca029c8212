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
	// screenful is the number of bytes of past output that a new client gets.
	screenful = 16 << 10
	// stallTime is the time for which the command waits for a client that does not read.
	stallTime = 2 * time.Second
	// maxClients limits the number of clients, and maxPieces the number of frames that wait for one
	// of them.
	maxClients = 128
	maxPieces  = 64
)

// holder is the state of the terminal.
type holder struct {
	before  []string // put in front of each command
	environ []string
	output  io.Writer     // the journal
	begun   chan struct{} // closed when the command runs, or never will
	admits  func(peer int) bool
	job     string   // the job's id
	name    string   // the terminal's name
	screen  *session // nil: none

	sandboxed  bool // sandboxed processes may connect
	noTerminal bool // the process is a door: it only runs extra commands

	inside Entrance // of the container in which the job's command runs

	mu         sync.Mutex // guards what follows
	rows, cols uint16
	shown      bool     // the GNU screen session shows the terminal
	term       string   // TERM in the GNU screen session
	master     *os.File // nil until the command runs
	last       []byte   // the last output
	clients    map[*client]bool
	beside     map[*extraCommand]bool
	ended      bool
	status     byte           // how the command ended
	leaving    sync.WaitGroup // the clients' writers
}

// Entrance returns the words that precede a command so that it runs in a container, and the
// environment of the whole command. The argument term is the TERM of a command in a terminal. A nil
// Entrance means that there is no container.
type Entrance func(tty bool, term string) (argv, env []string)

// client is somebody who has attached, or who runs a command of their own.
type client struct {
	pieces chan []byte // frames on their way; closed when no more follow
}

func (h *holder) size() pty.Winsize {
	h.mu.Lock()
	defer h.mu.Unlock()
	return pty.Winsize{Rows: h.rows, Cols: h.cols}
}

// resize gives the terminal the size of the client that asked last. If the size is unchanged, the
// programs in the terminal get SIGWINCH all the same, so that they redraw.
func (h *holder) resize(rows, cols uint16) {
	h.mu.Lock()
	defer h.mu.Unlock()
	same := h.rows == rows && h.cols == cols
	h.rows, h.cols = rows, cols
	if h.master == nil {
		return
	}
	setSize(h.master, rows, cols)
	if same {
		_ = control(h.master, func(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCSIG, int(unix.SIGWINCH)) })
	}
}

// control calls a function with the descriptor of an open file. The Go runtime continues to manage
// the file.
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

// show passes a piece of the terminal's output to all clients and the journal. The command waits
// for slow clients. The journal does not: it gets a piece before show waits for clients.
func (h *holder) show(piece []byte) {
	frame := terminal.Encode(terminal.Data, piece)
	late := h.offer(piece, frame)
	_, _ = h.output.Write(piece)
	h.awaitClients(late, frame)
}

// offer passes a piece of output to every client that has room for it, and returns the clients
// without room.
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

// awaitClients passes a piece to the clients that had no room. It waits for all of them together,
// at most for stallTime. Clients that have not read by the end of that time are dropped (invariant
// 2).
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
		if !h.clients[c] { // the client has left meanwhile
			continue
		}
		select {
		case c.pieces <- frame:
		case <-over:
			h.drop(c)
			over = closedTime // the remaining clients get no more time
		}
	}
}

// closedTime is a time that has passed.
var closedTime = func() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()

// drop removes a client; h.mu is held.
func (h *holder) drop(c *client) {
	if h.clients[c] {
		delete(h.clients, c)
		close(c.pieces)
	}
}

// attach adds a client and gives it the last output. It returns false if there are too many
// clients. It starts the client's writer itself, so that tellEnd waits for every writer. If the
// command has ended, the client also learns how, unless the holder ends first.
func (h *holder) attach(c *client, write func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.clients) >= maxClients {
		return false
	}
	if h.clients == nil {
		h.clients = map[*client]bool{}
	}
	h.clients[c] = true
	if len(h.last) > 0 {
		c.pieces <- terminal.Encode(terminal.Data, h.lastLines())
	}
	if h.ended {
		h.sayEnd(c)
		go write()
		return true
	}
	h.leaving.Go(write)
	return true
}

// enter calls the function start, which starts an extra command, and records the command. It
// returns an error if the job has ended or too many commands run.
func (h *holder) enter(start func() (*extraCommand, error)) (*extraCommand, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended || len(h.beside) >= maxClients {
		return nil, errors.New("too many commands run beside the job's, or the job has ended")
	}
	b, err := start()
	if err != nil {
		return nil, err
	}
	if h.beside == nil {
		h.beside = map[*extraCommand]bool{}
	}
	h.beside[b] = true
	return b, nil
}

func (h *holder) leave(b *extraCommand) {
	h.mu.Lock()
	delete(h.beside, b)
	h.mu.Unlock()
}

// lastLines returns the last output. If earlier output is missing, the result begins with a whole
// line. h.mu is held.
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

// tellEnd tells all clients how the command ended, and returns when they have been told. Extra
// commands end or are killed.
func (h *holder) tellEnd(status int) {
	h.mu.Lock()
	h.ended, h.status = true, byte(status)
	for b := range h.beside {
		b.hangUp()
	}
	for c := range h.clients {
		h.sayEnd(c)
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

// sayEnd tells a client how the command ended, and removes the client; h.mu is held.
func (h *holder) sayEnd(c *client) {
	select {
	case c.pieces <- terminal.Encode(terminal.Ended, []byte{h.status}):
	default: // this client does not read
	}
	h.drop(c)
}

// journal writes lines with the line ends of the journal instead of those of a terminal.
type journal struct {
	w  io.Writer
	cr bool // the last byte so far is a CR, which may belong to a line end
}

// Write drops each CR before a line end.
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
