package term

import (
	"io"
	"strings"
	"unicode/utf8"
)

// textWriter replaces what is not text, also where it comes in pieces.
type textWriter struct {
	w    io.Writer
	rest []byte // the beginning of a character
}

// TextOnly passes text on to a terminal without what the terminal would act on.
func TextOnly(w io.Writer) io.Writer { return &textWriter{w: w} }

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
		if r == '\n' || r == '\t' {
			return r
		}
		return cleanRune(r)
	}, string(text[:end])))
	return len(p), err
}
