package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
)

const (
	patience = 500 * time.Millisecond // time before the line is shown
	redraw   = 100 * time.Millisecond
)

// Line shows the progress of one piece of work. The methods of a nil Line do nothing.
type Line struct {
	out   io.Writer
	width func() int
	began time.Time
	once  sync.Once // closes stop once

	stop, ended chan struct{}

	mu    sync.Mutex // guards the fields below, and the order of writes to the screen
	text  string
	drawn string // the line on the screen; "" for none
}

// Begin starts a line on f, the standard error. It returns nil
// if f cannot show a line. Call End when the work is done.
func Begin(f *os.File, getenv func(string) string, format string, args ...any) *Line {
	if kind := getenv("TERM"); kind == "" || kind == "dumb" || columns(f) == 0 {
		return nil
	}
	return begin(f, func() int { return columns(f) }, fmt.Sprintf(format, args...))
}

// columns returns the width of a terminal, 0 if f is not a terminal.
func columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	if size.Col == 0 {
		return 80 // the terminal does not know its size
	}
	return int(size.Col)
}

func begin(out io.Writer, width func() int, text string) *Line {
	l := &Line{out: out, width: width, text: text, began: time.Now()}
	l.stop, l.ended = make(chan struct{}), make(chan struct{})
	go l.run()
	return l
}

func (l *Line) run() {
	defer close(l.ended)
	wait := patience
	for {
		select {
		case <-l.stop:
			return
		case <-time.After(wait):
			l.draw()
			wait = redraw
		}
	}
}

// Say replaces the text of the line.
func (l *Line) Say(format string, args ...any) {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.text = fmt.Sprintf(format, args...)
	l.mu.Unlock()
}

func (l *Line) draw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := []rune(l.text)
	for i, r := range text {
		if r >= 0x1100 || !unicode.IsPrint(r) { // so that each character takes at most one column and has no other effect
			text[i] = '?'
		}
	}
	text = append(text, []rune(fmt.Sprintf(" (%s)", time.Since(l.began).Truncate(time.Second)))...)
	if now := string(text[:min(len(text), max(0, l.width()-1))]); now != l.drawn {
		fmt.Fprint(l.out, "\r\x1b[K"+now)
		l.drawn = now
	}
}

// clear removes the line. The caller holds l.mu.
func (l *Line) clear() {
	if l.drawn != "" {
		fmt.Fprint(l.out, "\r\x1b[K")
		l.drawn = ""
	}
}

// Aside removes the line while f runs. The text that f prints stays on the screen.
func (l *Line) Aside(f func()) {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.clear()
	}
	f()
}

// Over returns a writer to the same terminal. Its text appears above the line.
func (l *Line) Over(w io.Writer) io.Writer {
	if l == nil {
		return w
	}
	return over{l, w}
}

type over struct {
	l *Line
	w io.Writer
}

// Write writes above the line. The text must consist of whole lines.
func (o over) Write(text []byte) (n int, err error) {
	o.l.Aside(func() { n, err = o.w.Write(text) })
	return n, err
}

// End removes the line. It may be called more than once.
func (l *Line) End() {
	if l == nil {
		return
	}
	l.once.Do(func() { close(l.stop) })
	<-l.ended
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
}
