package journal

import (
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of one value, of the text and of one entry, far below what a datagram
// may have (net.core.wmem_default, as a rule 208 KiB): no other way around for
// large ones is needed.
const (
	maxValue = 8 << 10
	maxText  = 32 << 10
	maxEntry = 128 << 10
)

// fieldPrefix is before the names of our fields.
const fieldPrefix = "GPUSCHED_"

// entry is one line of the log.
type entry struct {
	level  slog.Level
	text   string // one line, without control characters
	fields []field
}

type field struct{ name, value string }

// add adds a field of an attribute, and what the text says of it.
func (e *entry) add(name, value string) {
	value = cut(value)
	if strings.HasPrefix(name, fieldPrefix) {
		e.fields = append(e.fields, field{fieldWord(name), value})
		return
	}
	e.fields = append(e.fields, field{fieldPrefix + fieldWord(name), value})
	if said := " " + quoted(name) + "=" + quoted(value); len(e.text)+len(said) <= maxText {
		e.text += said
	}
}

// auditField marks entries of the audit log.
const auditField = fieldPrefix + "AUDIT"

// audit reports whether the entry is one of the audit log.
func (e *entry) audit() bool {
	return slices.ContainsFunc(e.fields, func(f field) bool { return f.name == auditField })
}

// fieldWord turns a name into what journald accepts in names: A to Z, 0 to 9, _.
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

// cut shortens what is too long, and says so.
func cut(value string) string {
	if len(value) <= maxValue {
		return value
	}
	return value[:maxValue] + "…"
}

// quoted is a value as it stands after "=" in the text: in quotes where it
// would not end at the next space, or has what a terminal must not see.
func quoted(value string) string {
	if value == "" || strings.ContainsAny(value, ` "=`) || !printable(value) {
		return strconv.Quote(value)
	}
	return value
}

// printable reports whether a text can be shown on a terminal as it is.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// priority is the syslog priority of a level, as in sd-daemon(3).
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
