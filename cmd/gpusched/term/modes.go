package term

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Modes passes a program's output on to a terminal. It remembers the terminal modes that the output
// changed. If the user leaves the program while it runs, Reset makes the terminal usable again.
type Modes struct {
	W io.Writer

	seq     sequences
	private map[int]bool // the DEC private modes that differ from those of a new terminal
	keypad  bool
	region  bool // a scroll region is set
	style   bool // colours or other attributes are set
	shape   bool // the cursor shape was changed
	charset bool
	keys    int  // how many times keyboard protocol flags were pushed
	other   bool // keys with modifiers are reported in another way
}

// onByDefault are the private modes that are on in a new terminal. All others are off.
var onByDefault = map[int]bool{7: true, 25: true}

// reportingModes are modes in which a terminal sends reports that nobody typed.
var reportingModes = []int{1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016}

// screenModes are the modes of the alternate screen. Reset leaves that screen last, since the
// program changed the other modes on it.
var screenModes = []int{47, 1047, 1049}

// maxKept is the largest number of modes that are remembered. Real programs use fewer.
const maxKept = 64

// Write passes output on and notes its escape sequences.
func (m *Modes) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; rest = rest[1:] {
		if m.seq.state == inText {
			at := bytes.IndexByte(rest, escape)
			if at < 0 {
				break
			}
			rest = rest[at:]
		}
		if _, sequence := m.seq.nextByte(rest[0]); len(sequence) > 0 {
			m.record(string(sequence))
		}
	}
	return m.W.Write(p)
}

// record records the modes that an escape sequence changes.
func (m *Modes) record(s string) {
	final, within := s[len(s)-1], ""
	if s[0] == '[' {
		within = s[1 : len(s)-1]
	}
	switch {
	case s == "c": // this sequence resets the terminal
		*m = Modes{W: m.W}
	case s == "=" || s == ">":
		m.keypad = s == "="
	case len(s) == 2 && strings.ContainsRune("()*+", rune(s[0])):
		m.charset = s[1] != 'B'
	case s[0] != '[':
	case final == 'h' || final == 'l':
		m.notePrivate(within, final == 'h')
	case final == 'r' && strings.Trim(within, "0123456789;") == "":
		m.region = within != ""
	case final == 'q' && strings.HasSuffix(within, " "):
		m.shape = within != "0 "
	case final == 'm' && strings.HasPrefix(within, ">"):
		m.other = within != ">4"
	case final == 'm':
		m.style = within != "" && within != "0"
	case final == 'u' && strings.HasPrefix(within, ">"):
		m.keys = min(m.keys+1, maxKept)
	case final == 'u' && strings.HasPrefix(within, "<"):
		m.keys = max(0, m.keys-1)
	}
}

func (m *Modes) notePrivate(list string, on bool) {
	list, private := strings.CutPrefix(list, "?")
	if !private {
		return
	}
	for word := range strings.SplitSeq(list, ";") {
		n, err := strconv.Atoi(word)
		switch {
		case err != nil:
		case on == onByDefault[n]:
			delete(m.private, n)
		case len(m.private) < maxKept:
			if m.private == nil {
				m.private = map[int]bool{}
			}
			m.private[n] = on
		}
	}
}

// Talks reports whether the terminal may send reports that nobody typed.
func (m *Modes) Talks() bool {
	return slices.ContainsFunc(reportingModes, func(n int) bool { return m.private[n] })
}

// Reset returns the sequences that restore the terminal. It restores only modes that were changed.
func (m *Modes) Reset() string {
	var b strings.Builder
	if m.seq.state != inText {
		b.WriteByte(cancel) // ends an unfinished sequence
	}
	say := func(changed bool, text string) {
		if changed {
			b.WriteString(text)
		}
	}
	for range m.keys {
		b.WriteString("\x1b[<u")
	}
	say(m.other, "\x1b[>4m")
	say(m.keypad, "\x1b>")
	say(m.style, "\x1b[0m")
	say(m.charset, "\x1b(B\x0f")
	say(m.shape, "\x1b[0 q")
	say(m.region, "\x1b7\x1b[r\x1b8") // saves and restores the cursor, which the sequence would move
	order := slices.Sorted(maps.Keys(m.private))
	slices.SortStableFunc(order, func(x, y int) int { return last(x) - last(y) })
	for _, n := range order {
		b.WriteString("\x1b[?" + strconv.Itoa(n))
		say(onByDefault[n], "h")
		say(!onByDefault[n], "l")
	}
	*m = Modes{W: m.W}
	return b.String()
}

func last(mode int) int { return slices.Index(screenModes, mode) }
