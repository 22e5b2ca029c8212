package words

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// sentence has two format strings for a code. The text says what happened and why, and the hint
// says what to do next. Both can use the arguments of the message.
type sentence struct{ text, hint string }

// Say returns the sentence of a message, with the hint in brackets.
func Say(m job.Message) string {
	text, hint := split(m)
	return text + inBrackets(hint)
}

// Refusal returns what was refused and why, and a hint about what to do next.
func Refusal(r *job.Refusal) (text, hint string) { return split(r.Message) }

// Spelled replaces the arguments of a message with their words, because JSON would change some of
// them. Times, messages and reasons are not replaced.
func Spelled(m job.Message) job.Message {
	m.Args = slices.Clone(m.Args)
	for i, a := range m.Args {
		switch a.(type) {
		case time.Time, job.Message, job.Reason:
		default:
			m.Args[i] = fmt.Sprint(spell(a))
		}
	}
	return m
}

// Error returns the sentence of an error.
func Error(err error) string {
	var refusal *job.Refusal
	var problems job.Problems
	switch {
	case errors.As(err, &refusal):
		return Say(refusal.Message)
	case errors.As(err, &problems):
		return joinLines(problems)
	}
	return err.Error()
}

func split(m job.Message) (text, hint string) {
	s, known := sentences[m.Code]
	if m.Text != "" || !known {
		return m.String(), ""
	}
	args := m.Args
	if (m.Code == "detail/unmet" || m.Code == "never/dependency") && len(args) > 1 {
		args = slices.Clone(args)
		args[1] = howEnded(fmt.Sprint(args[1]))
	}
	return fill(s.text, args), fill(s.hint, args)
}

// howEnded returns how a job ended. Callers put the text after the job's name.
func howEnded(state string) string {
	switch job.State(state) {
	case job.Completed, job.Failed:
		return state
	case job.TimedOut:
		return "reached its time limit"
	case job.OutOfMemory:
		return "ran out of memory"
	case job.GPUOutOfMemory:
		return "ran out of GPU memory"
	}
	return "was " + state
}

func fill(format string, args []any) string {
	if !strings.Contains(format, "%") {
		return format
	}
	return singular(fmt.Sprintf(format, job.Each(args, spell)...))
}

// singulars has the plural nouns that follow numbers in sentences, with their singulars.
var singulars = map[string]string{
	"GPUs": "GPU", "jobs": "job", "tasks": "task", "processes": "process", "messages": "message", "starts": "start",
	"dependencies": "dependency", "ranges": "range", "bytes": "byte", "combinations": "combination", "modules": "module",
}

// singular corrects a plural noun after the number 1: "1 GPUs" becomes "1 GPU".
func singular(text string) string {
	words := strings.Split(text, " ")
	for i := range len(words) - 1 {
		if strings.TrimPrefix(words[i], "(") != "1" {
			continue
		}
		at := i + 1
		if words[at] == "separate" && at+1 < len(words) {
			at++
		}
		noun := strings.TrimRight(words[at], ":,;)")
		if single, counted := singulars[noun]; counted {
			words[at] = single + words[at][len(noun):]
		}
	}
	return strings.Join(words, " ")
}

// spell returns an argument as a sentence shows it.
func spell(a any) any {
	switch v := a.(type) {
	case time.Time:
		return job.FormatMoment(v)
	case time.Duration:
		return job.FormatDuration(v)
	case []int:
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ", "), "[]")
	case []string: // the strings are options
		return "--" + strings.Join(v, ", --")
	case []job.DependencyKind:
		return "--" + strings.ReplaceAll(strings.Trim(fmt.Sprint(v), "[]"), " ", ", --")
	case job.Message:
		return Say(v)
	case job.Problems:
		return joinLines(v)
	case job.Reason:
		return Reason(v)
	case job.Result:
		return Result(&v)
	case job.GPUError:
		return GPUError(v)
	}
	return a
}

// joinLines returns all problems, each on a line of its own.
func joinLines(list job.Problems) string {
	return strings.Join(job.Each(list, Say), "\n")
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}
