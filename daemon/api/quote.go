package api

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gpusched/gpusched/daemon/job"
)

// Quote writes a command for a POSIX shell with $'…' (bash, zsh, ksh, busybox).
// The shell reads back exactly the same bytes, and the text is harmless on a terminal.
func Quote(argv ...string) string {
	return strings.Join(job.Each(argv, quoteWord), " ")
}

// plainPunctuation has characters that have no meaning for a shell, anywhere in a word.
const plainPunctuation = "%+,-./:=@_"

func quoteWord(s string) string {
	plain, printable := s != "" && !strings.HasPrefix(s, "="), utf8.ValidString(s)
	for _, r := range s {
		alnum := r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		plain = plain && (alnum || strings.ContainsRune(plainPunctuation, r))
		printable = printable && r >= ' ' && r <= '~'
	}
	switch {
	case plain:
		return s
	case printable:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return "$'" + escapeWord(s) + "'"
}

// escapeWord keeps the letters of all scripts. It escapes invalid UTF-8,
// and everything that could move a cursor.
func escapeWord(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError || r != ' ' && !job.Printable(string(r)):
			_, n := utf8.DecodeRuneInString(s[i:]) // 1 for an invalid byte
			for _, c := range []byte(s[i : i+n]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
