package term

// Bounds of an escape sequence. What is longer is none.
const (
	maxControl = 64
	maxString  = 4096
)

// sequences finds the escape sequences in what a terminal is sent, also where they
// come in pieces.
type sequences struct {
	state  state
	inside []byte // what the sequence has so far, without ESC
	length int    // of a string, which is not kept
}

type state int

const (
	inText state = iota
	afterESC
	inControl // CSI: ESC [
	inString  // OSC, DCS and the like, to BEL or ESC \
)

const (
	bell   = 0x07
	cancel = 0x18
	substi = 0x1a
	escape = 0x1b
)

// next takes a byte, and reports whether that is text. Where it ends a sequence that
// is returned, without ESC; of a string only how it begins.
func (s *sequences) next(c byte) (text bool, sequence []byte) {
	switch {
	case c == escape:
		s.begin(afterESC)
	case s.state == inText:
		return true, nil
	case c == cancel || c == substi:
		s.begin(inText)
	case s.state == inString:
		if s.length++; c == bell || s.length > maxString {
			return false, s.end()
		}
	case c < ' ': // a terminal acts on it in the middle of a sequence
		return true, nil
	default:
		return false, s.inSequence(c)
	}
	return false, nil
}

func (s *sequences) begin(in state) { s.state, s.inside, s.length = in, s.inside[:0], 0 }

func (s *sequences) end() []byte {
	s.state = inText
	return s.inside
}

// inSequence takes a byte of one that is no string.
func (s *sequences) inSequence(c byte) []byte {
	first := len(s.inside) == 0
	s.inside = append(s.inside, c)
	switch {
	case s.state == afterESC && first && c == '[':
		s.state = inControl
	case s.state == afterESC && first && (c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_'):
		s.state = inString
	case s.state == afterESC && c >= '0', s.state == inControl && c >= '@', len(s.inside) > maxControl:
		return s.end()
	}
	return nil
}
