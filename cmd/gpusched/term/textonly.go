package term

import (
	"io"
	"strings"
	"unicode/utf8"
)

// textWriter replaces what is not text, also where it comes in pieces.
type textWriter struct {
	w    io.Writer
	keep string // the control characters that pass
	rest []byte // the beginning of a character
}

// TextOnly passes text on to a terminal without what the terminal would act on.
func TextOnly(w io.Writer) io.Writer { return &textWriter{w: w, keep: "\n\t"} }

// Harmless passes on to a terminal what another user's program shows in one: the text
// and the movements within a line, without any escape sequence.
func Harmless(w io.Writer) io.Writer {
	return &harmless{text: textWriter{w: w, keep: "\n\t\r\b"}}
}

type harmless struct {
	seq  sequences
	text textWriter
}

// Write leaves out the escape sequences.
func (h *harmless) Write(p []byte) (int, error) {
	kept := make([]byte, 0, len(p))
	for _, c := range p {
		if text, _ := h.seq.next(c); text && c != bell {
			kept = append(kept, c)
		}
	}
	_, err := h.text.Write(kept)
	return len(p), err
}

// Write passes the text on.
func (s *textWriter) Write(p []byte) (int, error) {
	text := append(s.rest, p...)
	end := len(text)
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if tail := text[len(text)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				end -= i
			}
			break
		}
	}
	s.rest = append([]byte(nil), text[end:]...)
	_, err := io.WriteString(s.w, strings.Map(func(r rune) rune {
		if strings.ContainsRune(s.keep, r) {
			return r
		}
		return cleanRune(r)
	}, string(text[:end])))
	return len(p), err
}
