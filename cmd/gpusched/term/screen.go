package term

import (
	"bufio"
	"fmt"
	"strings"
)

// The sequences of a screen: the alternate one without a cursor and without line breaks of
// its own, and a frame that terminals which can show at once.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	beginFrame  = "\x1b[?2026h\x1b[H"
	endFrame    = "\x1b[J\x1b[?2026l"
	endLine     = "\x1b[0m\x1b[K"
)

// Screen draws on a whole terminal without flicker: over what is there, line by line.
type Screen struct{ w *bufio.Writer }

// NewScreen takes the terminal over until Close.
func NewScreen(w *bufio.Writer) *Screen {
	s := &Screen{w}
	s.write(enterScreen)
	return s
}

// Close gives the terminal back as it was.
func (s *Screen) Close() { s.write(leaveScreen) }

// Draw shows a text on so many columns and lines; of a longer one as much as there is room
// for, and how many lines are missing.
func (s *Screen) Draw(text string, width, height int) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if height > 1 && len(lines) > height {
		more := len(lines) - height + 1
		lines = append(lines[:height-1], Cut(fmt.Sprintf("… and %d more lines: the terminal is too low", more), width))
	}
	s.write(beginFrame + strings.Join(lines, endLine+"\r\n") + endLine + endFrame)
}

func (s *Screen) write(text string) {
	_, _ = s.w.WriteString(text) // a terminal that has gone ends the program by itself
	_ = s.w.Flush()
}
