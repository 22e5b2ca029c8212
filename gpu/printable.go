package gpu

import (
	"strings"
	"unicode"
)

// Bounds in runes of strings that other people's processes choose.
const (
	maxWord = 64
	maxUnit = 255
)

// printable replaces what a terminal or a log should not see by '?' and cuts
// the result to max runes.
func printable(s string, max int) string {
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
