package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

var errUnclosed = errors.New("a quotation mark is not closed")

// SplitWords splits a line into words as a shell does, but expands nothing. Blanks separate words,
// '…' and "…" keep blanks, and \ escapes a character. A word that begins with # starts a comment.
func SplitWords(line string) (list []string, err error) { return SplitEscaped(line, "\"\\$`") }

// SplitEscaped is like SplitWords, but the caller lists the characters that a backslash escapes
// inside double quotes. If the list is "", a backslash escapes every character, as in Slurm.
func SplitEscaped(line, escaped string) (list []string, err error) {
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

func OneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func ShellWord(s string) string { return api.Quote(s) }

// Begun returns the attempts that have started, in order.
func Begun(reply api.JobReply) (list []api.Attempt) {
	for _, at := range EveryPlaced(reply) {
		known := slices.ContainsFunc(list, func(b api.Attempt) bool { return b.Number == at.Number })
		if at.InvocationID != "" && !known {
			list = append(list, at)
		}
	}
	return list
}

// Because says why a job waits. The text is meant to follow the job's state.
func (a *App) Because(j api.Job) string { return Colon(j.Because(a.Err.Reader())) }

func Colon(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}

// PrintableName turns any text into a valid job name.
func PrintableName(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == utf8.RuneError || !job.Printable(string(r)) {
			r = '?'
		}
		if b.Len()+utf8.RuneLen(r) > job.MaxNameBytes {
			break
		}
		b.WriteRune(r)
	}
	if strings.TrimSpace(b.String()) == "" {
		return "job"
	}
	return b.String()
}

func TagLine(list map[string]string) string {
	parts := job.Each(slices.Collect(maps.Keys(list)), func(k string) string { return k + "=" + list[k] })
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// Phrases is a list of phrases that are joined by commas.
type Phrases []string

func (p *Phrases) Add(yes bool, format string, args ...any) {
	if yes {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

// GPURequest says how many GPUs a job asks for.
func GPURequest(milli int) string {
	switch milli {
	case 0:
		return "no GPU"
	case job.WholeGPU:
		return "1 GPU"
	}
	return job.FormatGPUs(milli) + " GPUs"
}
