package alias

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/job"
)

// An option is an option of another tool.
type option struct {
	names string // for example "-u --user"
	value bool   // whether it takes a value
	do    func(c *Call, value string) error
}

func (t tool) find(name string) *option {
	for i := range t.options {
		if slices.Contains(strings.Fields(t.options[i].names), name) {
			return &t.options[i]
		}
	}
	return nil
}

func (t tool) has(name string) bool { return t.find(name) != nil }

// described returns a line for each option: the option as it is typed, a tab, and its meaning.
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

// optionWords explains options whose names do not explain themselves.
var optionWords = map[string]map[string]string{
	"tsp": {
		"-l": "list the jobs",
		"-c": "print what a job printed",
		"-t": "print it while it runs",
		"-w": "wait for a job and exit with its status",
		"-k": "cancel a job",
		"-r": "cancel a waiting job",
		"-i": "show a job",
		"-s": "show the state of a job",
		"-f": "stay until the job has ended",
		"-L": "the job's name",
		"-G": "number of GPUs; none by default",
		"-g": "these GPUs",
		"-D": "start when these jobs have ended",
		"-W": "start when these jobs have completed",
		"-d": "start when the last job has completed",
		"-n": "ignored: output is always kept",
		"-B": "refused",
		"-N": "slots that the job takes; 1 by default",
		"-E": "ignored: both outputs go to one log",
		"-m": "mail at the end",
		"-o": "refused", "-p": "refused", "-u": "refused", "-U": "refused", "-C": "refused", "-K": "refused",
		"-S": "alone: set how many jobs run at once; without a value, print it",
	},
	"sbatch": {
		"--wrap":      "this command instead of a script",
		"--parsable":  "print only the number",
		"-W":          "wait for the job and exit with its status",
		"--test-only": "queue nothing; say where it would go", "-Q": "print nothing",
	},
	"srun": {"--pty": "give it a terminal", "-Q": "print nothing about the job"},
}

// unknownOption returns the error for an option that is not in the table (invariant 1).
func (t tool) unknownOption(name string) error {
	if len(t.options) == 0 {
		return fmt.Errorf("%s has no option %s here: it takes none", t.name, name)
	}
	var known []string
	for _, o := range t.options {
		known = append(known, strings.Fields(o.names)...)
	}
	near := ""
	if strings.HasPrefix(name, "--") {
		near = job.Nearest(name, known)
	}
	if slices.Contains([]string{"sbatch", "srun", "salloc"}, t.name) {
		near = cmp.Or(near, slurm.Unknown(name).Near())
	}
	if near != "" {
		near = ", did you mean " + near + "?"
	}
	return fmt.Errorf("%s has no option %s here%s", t.name, name, near)
}

// parse reads the options and returns the other words. The last argument says whether parse stops
// at the first word that is not an option.
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
		if words, err = t.parseOption(c, words); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// parseOption reads the first option and returns the words after it.
func (t tool) parseOption(c *Call, words []string) ([]string, error) {
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
		return nil, t.unknownOption(name)
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

// parseOnly reads the options of a call that has nothing else. The format is of the error for another
// word.
func (t tool) parseOnly(c *Call, args []string, format string) error {
	rest, err := t.parse(c, args, false)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf(format, rest[0])
	}
	return err
}

// renamed returns the reader of an option that has a different name in gpusched.
func renamed(name string) func(*Call, string) error {
	return func(c *Call, value string) error {
		c.add("--" + name + "=" + value)
		return nil
	}
}

// flagged returns the reader of an option without a value. The option becomes the given words.
func flagged(words ...string) func(*Call, string) error {
	return func(c *Call, _ string) error {
		c.add(words...)
		return nil
	}
}

// into returns the reader of an option whose value is a list. It appends to the given list.
func into(to *[]string) func(*Call, string) error {
	return func(_ *Call, value string) error { *to = append(*to, list(value)...); return nil }
}

// store returns the reader of an option whose value is stored.
func store(to *string) func(*Call, string) error {
	return func(_ *Call, value string) error { *to = value; return nil }
}

// set returns the reader of an option without a value.
func set(to *bool) func(*Call, string) error {
	return func(*Call, string) error { *to = true; return nil }
}

// ignore reads an option that makes no difference in gpusched.
func ignore(*Call, string) error { return nil }

// ignored returns the reader of an option that has no meaning in gpusched. A note tells the user.
func ignored(name, why string) func(*Call, string) error {
	return func(c *Call, _ string) error {
		c.note("%s is ignored: %s", name, why)
		return nil
	}
}

// refused returns the reader of an option that gpusched can't carry out.
func refused(why string) func(*Call, string) error {
	return func(*Call, string) error { return fmt.Errorf("%s", why) }
}

// otherJSON returns why a tool prints no JSON.
func otherJSON(command string) string {
	return "'gpusched " + command + " --json' prints JSON, of another form"
}
