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

// known are the options as they are typed.
func (t tool) known() (lines []string) {
	for _, o := range t.options {
		line := strings.ReplaceAll(o.names, " ", ", ")
		if o.value {
			line += " VALUE"
		}
		lines = append(lines, line)
	}
	return lines
}

// unknown is the answer to an option that is not in the table (invariant 1).
func (t tool) unknown(name string) error {
	if len(t.options) == 0 {
		return fmt.Errorf("%s has no option %s here: it takes none", t.name, name)
	}
	return fmt.Errorf("%s has no option %s here: it has %s", t.name, name, strings.Join(t.known(), "; "))
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
