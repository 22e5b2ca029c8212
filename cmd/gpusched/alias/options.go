package alias

import (
	"fmt"
	"strings"
)

// option is one of a tool's.
type option struct {
	names string // such as "-u --user"
	value bool   // it has one
	do    func(c *Call, value string) error
}

// is reports whether the option is called so.
func (o option) is(name string) bool {
	for n := range strings.FieldsSeq(o.names) {
		if n == name {
			return true
		}
	}
	return false
}

func (t tool) find(name string) *option {
	for i := range t.options {
		if t.options[i].is(name) {
			return &t.options[i]
		}
	}
	return nil
}

func (t tool) has(name string) bool { return t.find(name) != nil }

// described are the options as they are typed, each with what it is here.
func (t tool) described() (lines []string) {
	for _, o := range t.options {
		first, _, _ := strings.Cut(o.names, " ")
		line := strings.ReplaceAll(o.names, " ", ", ")
		if o.value {
			line += " VALUE"
		}
		lines = append(lines, line+"\t"+optionWords[t.name][first])
	}
	return lines
}

// optionWords say what options are whose letters do not.
var optionWords = map[string]map[string]string{
	"tsp": {
		"-l": "list the jobs",
		"-c": "print what a job printed",
		"-t": "print it while it runs",
		"-w": "wait for a job, and exit as it did",
		"-k": "end a job",
		"-r": "end a job",
		"-i": "show a job",
		"-s": "show the state of a job",
		"-f": "stay until the job has ended",
		"-L": "the job's name",
		"-G": "GPUs; none without it",
		"-g": "these GPUs",
		"-D": "start when these jobs have ended",
		"-W": "start when these have completed",
		"-d": "start when the last one has completed",
		"-n": "left out: output is kept",
		"-B": "refused",
		"-N": "slots that the job takes; 1 without it",
		"-E": "left out: the two outputs are one",
		"-m": "mail at the end",
		"-o": "refused", "-p": "refused", "-u": "refused", "-U": "refused", "-C": "refused", "-K": "refused",
		"-S": "alone: jobs that run at once; the number without a value",
	},
	"sbatch": {
		"--wrap":      "this command instead of a script",
		"--parsable":  "print the number alone",
		"-W":          "wait for the job, and exit as it did",
		"--test-only": "queue nothing; say where it would go", "-Q": "print nothing",
	},
	"srun": {"--pty": "give it a terminal", "-Q": "say nothing of the job"},
}

// unknown is the answer to an option that is not in the table (invariant 1).
func (t tool) unknown(name string) error {
	if len(t.options) == 0 {
		return fmt.Errorf("%s has no option %s here: it takes none", t.name, name)
	}
	return fmt.Errorf("%s has no option %s here", t.name, name)
}

// parse reads options and returns the other words; with a command these begin at the
// first of them.
func (t tool) parse(c *Call, words []string, command bool) (rest []string, err error) {
	for len(words) > 0 {
		word := words[0]
		switch {
		case word == "--":
			return append(rest, words[1:]...), nil
		case len(word) < 2 || word[0] != '-':
			if command {
				return words, nil
			}
			rest, words = append(rest, word), words[1:]
			continue
		}
		if words, err = t.one(c, words); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// one reads the option that the words begin with, and returns what follows it.
func (t tool) one(c *Call, words []string) ([]string, error) {
	word, rest := words[0], words[1:]
	name, value, given := strings.Cut(word, "=")
	o := t.find(name)
	if !strings.HasPrefix(word, "--") && (o == nil || !given && len(word) > 2) { // -uVALUE, -hu
		if exact := t.find(word); exact != nil {
			o, name = exact, word
		} else if name, value = word[:2], word[2:]; value != "" {
			given, o = true, t.find(name)
		}
	}
	switch {
	case o == nil:
		return nil, t.unknown(name)
	case !o.value && given && strings.HasPrefix(word, "--"):
		return nil, fmt.Errorf("%s takes no value", name)
	case !o.value && given:
		rest, value = append([]string{"-" + value}, rest...), ""
	case o.value && !given && len(rest) == 0:
		return nil, fmt.Errorf("%s needs a value", name)
	case o.value && !given:
		value, rest = rest[0], rest[1:]
	}
	if err := o.do(c, value); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return rest, nil
}

// as is an option that has another name here.
func as(name string) func(*Call, string) error {
	return func(c *Call, value string) error {
		c.add("--" + name + "=" + value)
		return nil
	}
}

// flagged is one without a value.
func flagged(words ...string) func(*Call, string) error {
	return func(c *Call, _ string) error {
		c.add(words...)
		return nil
	}
}

// nothing is an option for what is so here without it.
func nothing(*Call, string) error { return nil }

// left is one that means nothing here, and is named.
func left(name, why string) func(*Call, string) error {
	return func(c *Call, _ string) error {
		c.note("%s is left out: %s", name, why)
		return nil
	}
}

// refused is one that would be a broken promise.
func refused(why string) func(*Call, string) error {
	return func(*Call, string) error { return fmt.Errorf("%s", why) }
}
