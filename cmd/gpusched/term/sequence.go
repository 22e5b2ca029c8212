package term

// These are limits for an escape sequence. Longer text does not count as a sequence.
const (
	maxControl = 64
	maxString  = 4096
)

// sequences finds escape sequences in terminal output. The output may be divided into writes at any
// byte.
type sequences struct {
	state  state
	inside []byte // the beginning of the sequence, without ESC
	length int    // length of a string, whose content is not kept
}

type state int

const (
	inText state = iota
	afterESC
	inControl // in a CSI sequence: ESC [
	inString  // in OSC, DCS and the like, until BEL or ESC \
)

const (
	bell   = 0x07
	cancel = 0x18
	substi = 0x1a
	escape = 0x1b
)

// nextByte takes the next byte and reports whether the byte is text. If the byte ends a sequence,
// nextByte returns the sequence without ESC. If the sequence is a string, nextByte returns only its
// start.
func (s *sequences) nextByte(c byte) (text bool, sequence []byte) {
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
	case c < ' ': // terminals act on such a byte even within a sequence
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

// inSequence takes the next byte of a sequence that is not a string.
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
