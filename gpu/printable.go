package gpu

import (
	"strings"
	"unicode"
)

// Maximum length, in runes, of strings that other users' processes choose.
const (
	maxWord = 64
	maxUnit = 255
)

// toPrintable replaces unprintable characters with '?' and cuts the result to max runes.
func toPrintable(s string, max int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == max {
			break
		}
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			r = '?'
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}
