package parse

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/job"
)

// Misused turns one of the parser's errors into an error that says what to do next.
func Misused(err error) error {
	var node *kong.Node
	var parse *kong.ParseError
	if errors.As(err, &parse) {
		node = parse.Context.Selected()
	}
	said := err.Error()
	text := cmp.Or(habitualOption(node, said), wordError(node, said), noValue(said), reworded(said))
	e := cli.Usagef("%s", text)
	if strings.HasSuffix(e.Message, "')") && strings.Contains(e.Message, " (see '") {
		return e // the error already says what to do next
	}
	e.Hint = "see 'gpusched --help'"
	if node != nil && !isBare(parse.Context) {
		e.Hint = fmt.Sprintf("see '%s --help'", manual.CommandPath(node))
	}
	return e
}

// isBare reports whether no command was typed, so that the parser has chosen one.
func isBare(c *kong.Context) bool { return len(c.Args) > 0 && strings.HasPrefix(c.Args[0], "-") }

// wordError describes a missing or superfluous word. For other errors it returns "".
func wordError(n *kong.Node, message string) string {
	rest, unexpected := strings.CutPrefix(message, "unexpected argument ")
	word, _, _ := strings.Cut(rest, ", did you mean ")
	switch {
	case unexpected && (n == nil || len(n.Children) > 0):
		return noCommand(n, word, candidates(rest))
	case unexpected && len(n.Positional) == 0:
		return fmt.Sprintf("'%s' takes no argument, and %q is one", manual.CommandPath(n), word)
	case unexpected:
		return fmt.Sprintf("'%s' takes one %s, and %q is a second", manual.CommandPath(n),
			strings.ToUpper(n.Positional[0].Name), word)
	case n != nil && len(n.Children) > 0 && strings.HasPrefix(message, "expected "):
		return fmt.Sprintf("'%s' needs to know what to do: %s", manual.CommandPath(n),
			oneOf(job.Each(n.Children, func(c *kong.Node) string { return c.Name })))
	}
	if m := match(notNamed, message); m != nil {
		return strings.ToUpper(m[1]) + " is missing"
	}
	if flags, ok := strings.CutPrefix(message, "missing flags: "); ok {
		return strings.ReplaceAll(flags, "=", " ") + " is missing"
	}
	return ""
}

const notNamed = `^(?:missing positional arguments|expected "?)\s*<([^>]+)>`

// noCommand says that a command does not exist, and suggests a similar one. It never suggests the
// opposite of the typed word, such as undrain for drain.
func noCommand(n *kong.Node, word string, near []string) string {
	text := fmt.Sprintf("there is no command %q", word)
	if n != nil {
		group := strings.TrimPrefix(manual.CommandPath(n), "gpusched ") + " "
		if habit, ok := manual.OtherSubcommands.Find(group + word); ok {
			if habit.Ours == "" {
				return text + ": it is systemd's, " + habit.Note
			}
			return text + ", did you mean 'gpusched " + habit.Ours + "'?"
		}
	}
	near = slices.DeleteFunc(near, func(other string) bool { return "un"+word == other || word == "un"+other })
	return text + didYouMeanOne(word, near)
}

// didYouMeanOne suggests the most similar word among those that the parser found. If none is
// similar enough, it returns "".
func didYouMeanOne(word string, near []string) string {
	further := func(s string) int { return max(len(s)-len(word), len(word)-len(s)) }
	slices.SortStableFunc(near, func(x, y string) int { return further(x) - further(y) })
	bare := func(s string) string { return strings.TrimPrefix(s, "--") }
	if best := slices.Index(job.Each(near, bare), job.Nearest(bare(word), job.Each(near, bare))); best >= 0 {
		return fmt.Sprintf(", did you mean %q?", near[best])
	}
	return ""
}

// match matches a text with a pattern. It compiles the pattern when called, since a correct command
// line needs no pattern.
func match(pattern, text string) []string {
	return regexp.MustCompile(pattern).FindStringSubmatch(text)
}

// candidates returns the words that the parser found similar to a wrong word.
func candidates(said string) (near []string) {
	if _, rest, ok := strings.Cut(said, ", did you mean "); ok {
		for _, m := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(rest, -1) {
			if m[1] != "" {
				near = append(near, m[1])
			}
		}
	}
	return near
}

// oneOf formats a list of choices: a, b or c.
func oneOf(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// These patterns match the parser's errors about values. Group 1 is the option or argument.
const (
	notOneOf  = `^(\S+) must be one of (.*) but got (".*")$`
	notNumber = `^(?:(.+): )?expected (?:a valid \d+ bit u?int|an int|a float) but got (".*?")(?: \(.*\))?$`
	notBool   = `^(\S+): (?:bool value must be .* but got|expected bool but got) (".*?")(?: \(.*\))?$`
	noneGiven = `^(\S+): (?:missing value|expected \w+ value but got ".*" \(.*?\)(?:; perhaps try (.*)\?$)?)`
)

// noValue describes a wrong or missing value. For other errors it returns "".
func noValue(said string) string {
	name := func(shown string) string {
		word, _, _ := strings.Cut(strings.Trim(shown, "[]"), "=")
		if strings.HasPrefix(word, "<") {
			word = strings.ToUpper(strings.Trim(word, "<>."))
		}
		return word
	}
	if m := match(notOneOf, said); m != nil {
		return fmt.Sprintf("%s: %s is not known here: use %s", name(m[1]), m[3], oneOf(candidates(", did you mean "+m[2])))
	}
	if m := match(notNumber, said); m != nil {
		of := ""
		if strings.HasPrefix(m[1], "-") {
			of = name(m[1]) + ": "
		}
		return of + m[2] + " is not a number"
	}
	if m := match(notBool, said); m != nil {
		return fmt.Sprintf("%s takes no value, and %s is one", name(m[1]), m[2])
	}
	if m := match(noneGiven, said); m != nil {
		if m[2] != "" {
			return fmt.Sprintf("%s needs a value: one that begins with a dash is written as %s", m[1], m[2])
		}
		return name(m[1]) + " needs a value"
	}
	return ""
}

// reworded rewrites any other error of the parser for people.
func reworded(text string) string {
	if argument, rest, ok := strings.Cut(text, ">"); ok && strings.HasPrefix(argument, "<") && strings.Contains(rest, ": ") {
		_, text, _ = strings.Cut(rest, ": ") // the rest of the text names the wrong argument
	}
	if flag, _, ok := strings.Cut(text, ", did you mean "); ok && strings.HasPrefix(flag, "unknown flag --") {
		return flag + didYouMeanOne(strings.TrimPrefix(flag, "unknown flag "), candidates(text))
	}
	if strings.HasPrefix(text, "unknown flag -") && !strings.HasPrefix(text, "unknown flag --") {
		text, _, _ = strings.Cut(text, ",") // cuts off suggestions: any letter is similar to any other
	}
	return text
}
