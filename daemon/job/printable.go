package job

import (
	"unicode"
	"unicode/utf8"
)

// Printable reports whether any terminal can show s as it is: s is valid UTF-8, of graphic
// characters and plain spaces only. It has no control or format codes, which could move the cursor,
// change colours or reverse the text. It has no invisible letters such as the Hangul filler, which
// could make it look like another text.
func Printable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		shapeless := unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point)
		if r != ' ' && (!unicode.IsGraphic(r) || shapeless || unicode.IsSpace(r)) {
			return false
		}
	}
	return true
}
