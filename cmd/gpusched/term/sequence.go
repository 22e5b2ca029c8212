package term

// Bounds on an escape sequence. Anything longer is not treated as one.
const (
	maxControl = 64
	maxString  = 4096
)

// sequences finds the escape sequences in terminal output that arrives in any pieces.
type sequences struct {
	state  state
	inside []byte // the sequence so far, without ESC
	length int    // of a string, whose content is not kept
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

// next consumes a byte and reports whether it is text. If the byte ends a sequence, next returns
// the sequence without ESC, and only the start of a string.
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
	case c < ' ': // terminals act on it even within a sequence
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

// inSequence consumes a byte of a sequence that is not a string.
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
