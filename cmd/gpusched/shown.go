package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

// shown passes the output of another's job on to a terminal, without what the
// terminal would act on. One's own output, and any that goes into a file, stays
// as it is.
type shown struct {
	w    io.Writer
	rest []byte // the beginning of a character
}

// outputOf is where the output of a user's job is written to.
func (a *app) outputOf(uid int) io.Writer {
	if a.out.tty && uid != a.uid {
		return &shown{w: a.out.w}
	}
	return a.out.w
}

// Write passes the text on.
func (s *shown) Write(p []byte) (int, error) {
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
