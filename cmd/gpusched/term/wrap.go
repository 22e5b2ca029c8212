package term

import "strings"

// Wrap breaks a text into lines that fit the terminal, and indents each line after the first. If
// the output is not a terminal, it returns the text unchanged.
func (t *Terminal) Wrap(text, indent string) string {
	if t.Width <= 0 {
		return text
	}
	var b strings.Builder
	line := len(text) - len(strings.TrimLeft(text, " "))
	b.WriteString(text[:line])
	started := false // the current line has a word
	for i, word := range strings.Fields(text) {
		blank := blanksBefore(text, i)
		if started && line+len(blank)+Columns(word) > t.Width {
			b.WriteString("\n" + indent)
			line, started, blank = len(indent), false, ""
		}
		if !started {
			blank = ""
		}
		b.WriteString(blank + word)
		line += len(blank) + Columns(word)
		started = true
	}
	return b.String()
}

// blanksBefore returns the blanks before the word with this index.
func blanksBefore(text string, word int) string {
	rest := text
	for range word {
		rest = strings.TrimLeft(rest, " ")
		rest = rest[max(0, strings.IndexByte(rest, ' ')):]
	}
	return rest[:len(rest)-len(strings.TrimLeft(rest, " "))]
}
