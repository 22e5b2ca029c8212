package hold

import (
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/terminal"
)

// window is the window of a job's GNU screen session.
type window struct {
	term    string // its TERM
	resized chan struct{}
	typed   chan []byte
	closed  chan struct{}
}

// Show runs in the window of a session: it shows the job's terminal there until the command ends or
// the window is closed. It ignores the job's signals.
func Show(job string, term string) int {
	w := &window{term: term, resized: make(chan struct{}, 1), typed: make(chan []byte), closed: make(chan struct{})}
	arriving := make(chan os.Signal, 16)
	signal.Notify(arriving)
	go func() {
		for s := range arriving {
			if s == syscall.SIGWINCH && len(w.resized) == 0 {
				w.resized <- struct{}{}
			}
		}
	}()
	makeRaw(os.Stdin)
	go w.readKeys(os.Stdin)
	for {
		conn, err := terminal.Dial(job, os.Getuid())
		if err != nil {
			return 0 // the job has ended
		}
		over := make(chan bool, 1)
		go func() { over <- showFrom(conn, os.Stdout) }()
		if w.talk(conn, over) {
			return 0
		}
	}
}

// makeRaw makes the terminal of the window pass on all input unchanged.
func makeRaw(f *os.File) {
	_ = control(f, func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			return err
		}
		t.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
		t.Oflag &^= unix.OPOST
		t.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
		t.Cflag = t.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
		t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
		return unix.IoctlSetTermios(fd, unix.TCSETS, t)
	})
}

// readKeys reads what is typed until the window is closed.
func (w *window) readKeys(in io.Reader) {
	defer close(w.closed)
	for {
		b := make([]byte, 4096)
		n, err := in.Read(b)
		if n > 0 {
			w.typed <- b[:n]
		}
		if err != nil {
			return
		}
	}
}

// againTime is the time between tries to attach to a holder that refuses.
const againTime = time.Second

// talk handles one connection to the holder. It returns true if Show must end and not reconnect. A
// connection may be lost because the holder drops clients that do not read. For example, screen
// does not read while the terminal of an attached user hangs.
func (w *window) talk(conn *os.File, over <-chan bool) bool {
	defer conn.Close()
	send := func(k terminal.Kind, content []byte) { _, _ = conn.Write(terminal.Encode(k, content)) }
	size := func() (rows, cols uint16) {
		_ = control(os.Stdin, func(fd int) error {
			size, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
			if err == nil {
				rows, cols = size.Row, size.Col
			}
			return err
		})
		return rows, cols
	}
	hello := terminal.Greeting{Term: w.term, Screen: true}
	hello.Rows, hello.Cols = size()
	content, _ := json.Marshal(hello) // numbers and strings can't fail
	send(terminal.Hello, content)
	for {
		select {
		case ended := <-over:
			return ended
		case <-w.closed:
			return true
		case <-w.resized:
			send(terminal.Size, terminal.EncodeSize(size()))
		case keys := <-w.typed:
			send(terminal.Data, keys)
		}
	}
}

// showFrom prints what the holder sends, and reports whether the command has ended.
func showFrom(conn io.Reader, out io.Writer) bool {
	for {
		kind, content, err := terminal.Read(conn)
		switch {
		case err != nil:
			return false
		case kind == terminal.Data:
			if _, err := out.Write(content); err != nil {
				return true
			}
		case kind == terminal.Ended:
			return true
		case kind == terminal.Refused || kind == terminal.Barred:
			time.Sleep(againTime)
			return false
		}
	}
}
