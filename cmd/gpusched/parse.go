package main

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// parse reads the words of a command into its struct as the whole grammar does, of whose tags it
// knows those that most commands have. It reports whether it could. Where it could not, as with a
// mistake or a wish for help, the whole grammar is to be asked, which says what there is to say.
// TestTheShortParserAgrees holds the two against each other.
func parse(cmd any, words []string) bool {
	p := parser{words: words}
	p.add(reflect.ValueOf(cmd).Elem())
	if !withDefaults(p.flags) || !withDefaults(p.args) {
		return false
	}
	if c, ok := cmd.(interface{ BeforeApply() error }); ok && c.BeforeApply() != nil {
		return false
	}
	for _, w := range words {
		if !utf8.ValidString(w) {
			return false
		}
	}
	for len(p.words) > 0 {
		if !p.word() {
			return false
		}
	}
	return p.complete()
}

// parser is what is left of a command line, and what its words can be.
type parser struct {
	words []string
	flags []field
	args  []field
	read  int // arguments that have been read
}

// field is an option or an argument.
type field struct {
	name  string
	short string
	tag   reflect.StructTag
	value reflect.Value
	given bool
}

func withDefaults(list []field) bool {
	for i := range list {
		if word := list[i].tag.Get("default"); word != "" && !list[i].put(word) {
			return false
		}
	}
	return true
}

// add collects the fields of a struct and of those in it.
func (p *parser) add(v reflect.Value) {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		_, inside := f.Tag.Lookup("embed")
		_, isArg := f.Tag.Lookup("arg")
		switch {
		case f.Tag.Get("kong") == "-":
		case f.Anonymous || inside:
			p.add(v.Field(i))
		case isArg:
			p.args = append(p.args, field{name: f.Tag.Get("name"), tag: f.Tag, value: v.Field(i)})
		case f.IsExported():
			name := cmp.Or(f.Tag.Get("name"), strings.ToLower(f.Name))
			p.flags = append(p.flags, field{name: name, short: f.Tag.Get("short"), tag: f.Tag, value: v.Field(i)})
		}
	}
}

// word reads the next word, and what belongs to it.
func (p *parser) word() bool {
	word := p.words[0]
	switch {
	case word == "--" || word == "-" || !strings.HasPrefix(word, "-"):
		return p.argument(word)
	case strings.HasPrefix(word, "--"):
		p.words = p.words[1:]
		return p.long(word[2:])
	}
	p.words = p.words[1:]
	return p.letters(word[1:])
}

// argument reads the arguments from here to the next option.
func (p *parser) argument(word string) bool {
	if p.read == len(p.args) {
		return false
	}
	f := &p.args[p.read]
	p.read++
	list := f.value.Kind() == reflect.Slice
	_, passed := f.tag.Lookup("passthrough")
	switch {
	case passed: // all of them are another program's, also a -- before them
		f.value.Set(reflect.ValueOf(p.words))
		p.words = nil
	case word == "--" && list && len(p.words) > 1:
		f.value.Set(reflect.ValueOf(p.words[1:]))
		p.words = nil
	case word == "--":
		return false
	case list:
		n := slices.IndexFunc(p.words, func(w string) bool { return strings.HasPrefix(w, "-") && w != "-" })
		if n < 0 {
			n = len(p.words)
		}
		f.value.Set(reflect.ValueOf(p.words[:n:n]))
		p.words = p.words[n:]
	case f.value.Kind() == reflect.String && f.tag.Get("type") == "":
		f.value.SetString(word)
		p.words = p.words[1:]
	default:
		return false
	}
	return true
}

// long reads an option with a name.
func (p *parser) long(text string) bool {
	name, value, has := strings.Cut(text, "=")
	for i := range p.flags {
		f := &p.flags[i]
		_, negatable := f.tag.Lookup("negatable")
		switch {
		case f.name == name && f.isBool():
			return !has && f.set(true)
		case f.name == name && has:
			return f.take(value)
		case f.name == name:
			return p.next(f)
		case negatable && name == "no-"+f.name:
			return !has && f.set(false)
		}
	}
	return false
}

// letters reads options of one letter, of which the last may have a value.
func (p *parser) letters(text string) bool {
	for len(text) > 0 {
		i := slices.IndexFunc(p.flags, func(f field) bool { return f.short == text[:1] })
		text = text[1:]
		switch {
		case i < 0:
			return false
		case p.flags[i].isBool():
			if !p.flags[i].set(true) {
				return false
			}
		case text != "":
			return p.flags[i].take(text)
		default:
			return p.next(&p.flags[i])
		}
	}
	return true
}

func (f *field) isBool() bool {
	t := f.value.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Bool
}

func (f *field) set(to bool) bool {
	f.given = true
	target(f.value).SetBool(to)
	return true
}

// target is what a value is put into; a pointer points to a new one.
func target(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Pointer {
		return v
	}
	v.Set(reflect.New(v.Type().Elem()))
	return v.Elem()
}

// next takes the value of an option from the next word.
func (p *parser) next(f *field) bool {
	s, ok := spellingOf(f.tag.Get("type"))
	if len(p.words) == 0 || strings.HasPrefix(p.words[0], "-") && p.words[0] != "-" && !(ok && s.dashed) {
		return false
	}
	value := p.words[0]
	p.words = p.words[1:]
	return f.take(value)
}

func (f *field) take(value string) bool {
	f.given = true
	return f.put(value)
}

// put sets what a word means.
func (f *field) put(word string) bool {
	if kind := f.tag.Get("type"); kind != "" {
		s, ok := spellingOf(kind)
		return ok && s.put(f.value, word) == nil
	}
	switch v := target(f.value); v.Interface().(type) {
	case string:
		v.SetString(word)
	case []string:
		if f.tag.Get("sep") != "none" || word == "" {
			return false
		}
		v.Set(reflect.Append(v, reflect.ValueOf(word)))
	case time.Duration:
		d, err := time.ParseDuration(word)
		v.SetInt(int64(d))
		return err == nil
	case int, int64:
		n, err := strconv.ParseInt(word, 0, v.Type().Bits())
		v.SetInt(n)
		return err == nil
	default:
		return false
	}
	return true
}

// complete reports whether nothing is missing, and what was given goes together.
func (p *parser) complete() bool {
	for i := range p.args {
		if _, optional := p.args[i].tag.Lookup("optional"); i >= p.read && !optional || p.args[i].elsewhere() {
			return false
		}
	}
	var groups []string // of options of which one can be given
	for i := range p.flags {
		f := &p.flags[i]
		_, required := f.tag.Lookup("required")
		xor := f.tag.Get("xor")
		switch {
		case required && !f.given, f.name == "host" && f.given:
			return false
		case f.tag.Get("enum") != "" && !slices.Contains(strings.Split(f.tag.Get("enum"), ","), f.value.String()):
			return false
		case xor != "" && f.given && (slices.Contains(groups, xor) || strings.Contains(xor, ",")):
			return false
		case xor != "" && f.given:
			groups = append(groups, xor)
		}
	}
	return true
}

// elsewhere reports whether an argument names jobs of another machine.
func (f *field) elsewhere() bool {
	if f.name != "id" {
		return false
	}
	words, several := f.value.Interface().([]string)
	if !several {
		words = []string{f.value.String()}
	}
	return slices.ContainsFunc(words, func(w string) bool {
		_, _, named := hostOf(w)
		return named
	})
}
