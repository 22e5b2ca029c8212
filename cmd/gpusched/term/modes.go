package term

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Modes passes on what programs send a terminal, and knows what they have switched on
// and not off again, so that one who leaves them in the middle has a usable terminal.
type Modes struct {
	W io.Writer

	seq     sequences
	private map[int]bool // DEC's private modes, as they are where that is not how terminals begin
	keypad  bool
	region  bool // a part of the screen scrolls
	style   bool // colours and the like
	shape   bool // of the cursor
	charset bool
	keys    int  // how often flags of the keyboard's protocol were pushed
	other   bool // keys with modifiers are sent in another way
}

// beginOn are the private modes that are on in a terminal in which nothing has run;
// the rest are off.
var beginOn = map[int]bool{7: true, 25: true}

// talking are the modes by which a terminal sends what nobody has typed.
var talking = []int{1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016}

// leftLast are the modes of another screen: the rest is put back on the screen on
// which it was changed.
var leftLast = []int{47, 1047, 1049}

// maxKept bounds what is remembered: there are fewer modes.
const maxKept = 64

// Write passes it on.
func (m *Modes) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; rest = rest[1:] {
		if m.seq.state == inText {
			at := bytes.IndexByte(rest, escape)
			if at < 0 {
				break
			}
			rest = rest[at:]
		}
		if _, sequence := m.seq.next(rest[0]); len(sequence) > 0 {
			m.note(string(sequence))
		}
	}
	return m.W.Write(p)
}

// note looks at a sequence.
func (m *Modes) note(s string) {
	final, within := s[len(s)-1], ""
	if s[0] == '[' {
		within = s[1 : len(s)-1]
	}
	switch {
	case s == "c": // the terminal has been reset
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
		case on == beginOn[n]:
			delete(m.private, n)
		case len(m.private) < maxKept:
			if m.private == nil {
				m.private = map[int]bool{}
			}
			m.private[n] = on
		}
	}
}

// Talks reports whether the terminal may be about to send what nobody has typed.
func (m *Modes) Talks() bool {
	return slices.ContainsFunc(talking, func(n int) bool { return m.private[n] })
}

// Reset is what has the terminal as it was: nothing for what nobody has changed.
func (m *Modes) Reset() string {
	var b strings.Builder
	if m.seq.state != inText {
		b.WriteByte(cancel) // a sequence that was cut in the middle
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
	say(m.region, "\x1b7\x1b[r\x1b8") // which moves the cursor
	order := slices.Sorted(maps.Keys(m.private))
	slices.SortStableFunc(order, func(x, y int) int { return last(x) - last(y) })
	for _, n := range order {
		b.WriteString("\x1b[?" + strconv.Itoa(n))
		say(beginOn[n], "h")
		say(!beginOn[n], "l")
	}
	*m = Modes{W: m.W}
	return b.String()
}

func last(mode int) int { return slices.Index(leftLast, mode) }
