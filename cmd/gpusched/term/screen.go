package term

import (
	"bufio"
	"fmt"
	"strings"
)

// These are the sequences for a full screen. They switch to the alternate screen, turn off the
// cursor and automatic line breaks, and mark synchronized frames for terminals that support such
// frames.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	beginFrame  = "\x1b[?2026h\x1b[H"
	endFrame    = "\x1b[J\x1b[?2026l"
	endLine     = "\x1b[0m\x1b[K"
)

// A Screen draws on the whole terminal. It overwrites line by line, so that nothing flickers.
type Screen struct{ w *bufio.Writer }

// NewScreen switches to the alternate screen. Close switches back.
func NewScreen(w *bufio.Writer) *Screen {
	s := &Screen{w}
	s.write(enterScreen)
	return s
}

// Close restores the terminal.
func (s *Screen) Close() { s.write(leaveScreen) }

// Draw shows a text on a screen of this size. If the text is too long, it cuts the text and says
// how many lines are missing.
func (s *Screen) Draw(text string, width, height int) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if height > 1 && len(lines) > height {
		more := len(lines) - height + 1
		lines = append(lines[:height-1], Cut(fmt.Sprintf("… and %d more lines: the terminal is too short", more), width))
	}
	s.write(beginFrame + strings.Join(lines, endLine+"\r\n") + endLine + endFrame)
}

func (s *Screen) write(text string) {
	_, _ = s.w.WriteString(text) // if the terminal is gone, the program ends anyway
	_ = s.w.Flush()
}
