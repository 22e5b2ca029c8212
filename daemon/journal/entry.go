package journal

import (
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits for one value, the text and one entry. A datagram may be much larger
// (net.core.wmem_default, usually 208 KiB), so an entry never needs another way to journald.
const (
	maxValue = 8 << 10
	maxText  = 32 << 10
	maxEntry = 128 << 10
)

// fieldPrefix is the beginning of the names of the scheduler's fields.
const fieldPrefix = "GPUSCHED_"

// entry is one line of the log.
type entry struct {
	level  slog.Level
	text   string // one line, without control characters
	fields []field
}

type field struct{ name, value string }

// add adds an attribute as a field. It also adds it to the text,
// unless the name begins with fieldPrefix.
func (e *entry) add(name, value string) {
	value = shorten(value)
	if strings.HasPrefix(name, fieldPrefix) {
		e.fields = append(e.fields, field{fieldWord(name), value})
		return
	}
	e.fields = append(e.fields, field{fieldPrefix + fieldWord(name), value})
	if said := " " + quoteValue(name) + "=" + quoteValue(value); len(e.text)+len(said) <= maxText {
		e.text += said
	}
}

// auditField is a field that only entries of the audit log have.
const auditField = fieldPrefix + "AUDIT"

// isAudit reports whether the entry belongs to the audit log.
func (e *entry) isAudit() bool {
	return slices.ContainsFunc(e.fields, func(f field) bool { return f.name == auditField })
}

// fieldWord replaces the characters in a name that journald does not accept in the name of a field.
// journald accepts A to Z, 0 to 9, and _.
func fieldWord(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name)
}

// shorten shortens a value that is too long, and marks it as shortened.
func shorten(value string) string {
	if len(value) <= maxValue {
		return value
	}
	return value[:maxValue] + "…"
}

// quoteValue returns a value in the form that follows "=" in the text. The value is quoted if it
// has a space, or characters that must not reach a terminal.
func quoteValue(value string) string {
	if value == "" || strings.ContainsAny(value, ` "=`) || !isPrintable(value) {
		return strconv.Quote(value)
	}
	return value
}

// isPrintable reports whether a text is safe to show on a terminal.
func isPrintable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// priority returns the syslog priority of a level, see sd-daemon(3).
func priority(l slog.Level) byte {
	switch {
	case l >= slog.LevelError:
		return '3'
	case l >= slog.LevelWarn:
		return '4'
	case l >= slog.LevelInfo:
		return '6'
	}
	return '7'
}
