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
	patience = 500 * time.Millisecond // before the line is shown
	redraw   = 100 * time.Millisecond
)

// Line is about one piece of work. The methods of nil, which nobody sees, do nothing.
type Line struct {
	out   io.Writer
	width func() int
	began time.Time
	once  sync.Once // closes stop

	stop, ended chan struct{}

	mu    sync.Mutex // guards what follows, and the order of what is on the screen
	text  string
	drawn string // "": nothing is on the screen
}

// Begin begins a line on a file, the standard error; nil where it is to have none. End ends it.
func Begin(f *os.File, getenv func(string) string, format string, args ...any) *Line {
	if kind := getenv("TERM"); kind == "" || kind == "dumb" || columns(f) == 0 {
		return nil
	}
	return begin(f, func() int { return columns(f) }, fmt.Sprintf(format, args...))
}

// columns is how wide a terminal is; 0: it is none.
func columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	if size.Col == 0 {
		return 80 // a terminal that was told no size
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

// Say says how far the work is.
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
		if r >= 0x1100 || !unicode.IsPrint(r) { // each character has one column at most, and does nothing
			text[i] = '?'
		}
	}
	text = append(text, []rune(fmt.Sprintf(" (%s)", time.Since(l.began).Truncate(time.Second)))...)
	if now := string(text[:min(len(text), max(0, l.width()-1))]); now != l.drawn {
		fmt.Fprint(l.out, "\r\x1b[K"+now)
		l.drawn = now
	}
}

// clear takes the line away; l.mu is held.
func (l *Line) clear() {
	if l.drawn != "" {
		fmt.Fprint(l.out, "\r\x1b[K")
		l.drawn = ""
	}
}

// Aside has f print something that stays.
func (l *Line) Aside(f func()) {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.clear()
	}
	f()
}

// Over is a writer to the same terminal, whose text is above the line.
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

// Write passes whole lines on.
func (o over) Write(text []byte) (n int, err error) {
	o.l.Aside(func() { n, err = o.w.Write(text) })
	return n, err
}

// End takes the line away. It may be called again.
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
