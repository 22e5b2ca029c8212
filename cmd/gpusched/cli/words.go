package client

import (
	"errors"
	"strings"
)

var errUnclosed = errors.New("a quotation mark is not closed")

// splitWords reads a line as a shell does that expands nothing: words with blanks
// between them, '…' and "…" around what has blanks, \ before a single character. From
// a word that begins with # on it is a comment.
func splitWords(line string) (list []string, err error) { return splitEscaped(line, "\"\\$`") }

// splitEscaped is the same, with the characters that a backslash stands before in double quotes; "" is all, as Slurm
// has it.
func splitEscaped(line, escaped string) (list []string, err error) {
	escapes := func(c byte) bool { return escaped == "" || strings.IndexByte(escaped, c) >= 0 }
	var word []byte
	inWord, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t' || c == '\r'):
			if inWord {
				list = append(list, string(word))
			}
			word, inWord = word[:0], false
		case quote == 0 && c == '#' && !inWord:
			return list, nil
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(line) && (quote == 0 || escapes(line[i+1])):
			i++
			word, inWord = append(word, line[i]), true
		default:
			word, inWord = append(word, c), true
		}
	}
	if quote != 0 {
		return nil, errUnclosed
	}
	if inWord {
		list = append(list, string(word))
	}
	return list, nil
}
