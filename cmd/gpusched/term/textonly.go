package term

import (
	"io"
	"strings"
	"unicode/utf8"
)

// textWriter replaces everything that is not text. The output may be divided into writes at any
// byte.
type textWriter struct {
	w    io.Writer
	keep string // the control characters that are passed on
	rest []byte // the beginning of an incomplete character
}

// TextOnly passes on text. It replaces everything that a terminal would act on.
func TextOnly(w io.Writer) io.Writer { return &textWriter{w: w, keep: "\n\t"} }

// Harmless filters what another user's program shows in a terminal. It passes on text and movements
// within a line, and no escape sequences.
func Harmless(w io.Writer) io.Writer {
	return &harmless{text: textWriter{w: w, keep: "\n\t\r\b"}}
}

type harmless struct {
	seq  sequences
	text textWriter
}

// Write passes on p and leaves out escape sequences.
func (h *harmless) Write(p []byte) (int, error) {
	kept := make([]byte, 0, len(p))
	for _, c := range p {
		if text, _ := h.seq.nextByte(c); text && c != bell {
			kept = append(kept, c)
		}
	}
	_, err := h.text.Write(kept)
	return len(p), err
}

// Write passes on the text in p.
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
