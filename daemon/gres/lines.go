package gres

import (
	"iter"
	"strings"
)

// A line is a line of a Slurm file, as its keys and values. The keys are in lower case.
type line map[string]string

// splitLines yields the lines of a text that are not empty.
func splitLines(text string) iter.Seq[line] {
	return func(yield func(line) bool) {
		text = strings.ReplaceAll(text, "\r\n", "\n")
		for raw := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
			if l := parseLine(raw); len(l) > 0 && !yield(l) {
				return
			}
		}
	}
}

// parseLine parses words of the form KEY=VALUE. A value may be quoted. For "include FILE" it
// returns the key include.
func parseLine(raw string) line {
	raw = strings.TrimSpace(stripComment(raw))
	if word, file, _ := strings.Cut(strings.ReplaceAll(raw, "\t", " "), " "); strings.EqualFold(word, "include") {
		return line{"include": strings.Trim(strings.TrimSpace(file), `"`)}
	}
	l := line{}
	for raw != "" {
		key, rest, ok := strings.Cut(raw, "=")
		if !ok {
			break
		}
		if words := strings.Fields(key); len(words) > 0 {
			key = strings.TrimRight(words[len(words)-1], "+-") // for KEY+=VALUE and KEY-=VALUE
		}
		value := ""
		if rest = strings.TrimLeft(rest, " \t"); strings.HasPrefix(rest, `"`) {
			value, rest, _ = strings.Cut(rest[1:], `"`)
		} else if end := strings.IndexAny(rest, " \t"); end >= 0 {
			value, rest = rest[:end], rest[end:]
		} else {
			value, rest = rest, ""
		}
		l[strings.ToLower(key)], raw = value, strings.TrimSpace(rest)
	}
	return l
}

// stripComment removes the comment from a line. A comment begins with a # that has no \ before it.
func stripComment(raw string) string {
	for i := range len(raw) {
		if raw[i] == '#' && (i == 0 || raw[i-1] != '\\') {
			return raw[:i]
		}
	}
	return raw
}
