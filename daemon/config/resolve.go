package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// resolve returns the key that an entry sets; ok is false if it sets none. An unknown name is a
// problem whose hint is the nearest known name. If a section's name has a typing error, its keys
// are checked as if the name were right, so that their own faults are reported at once.
func (m *merge) resolve(e entry) (k key, ok bool) {
	if len(e.path) == 1 && !e.table {
		hint := "; the sections are " + sectionNames()
		if !leadsToSection(e.path) {
			hint = sectionOfKey(e.path[0], hint)
		}
		m.problems.addf(e.at, "", "key \"%s\" stands outside of any section%s", printKey(e.path), hint)
		return key{}, false
	}
	parent := e.path
	if !e.table {
		parent = e.path[:len(e.path)-1]
	}
	s, name, ok := m.section(parent, e)
	if !ok || e.table {
		return key{}, false
	}
	known := s.keysOf(name)
	i := slices.IndexFunc(known, func(k key) bool { return k.name == e.path[len(e.path)-1] })
	if i < 0 {
		last := e.path[len(e.path)-1]
		m.problems.addf(e.at, "", "unknown key \"%s\" in [%s]%s", printKey([]string{last}), printed(known[0].section), keyHint(known, last))
		return key{}, false
	}
	return known[i], true
}

// section returns the section at a path, or else the section that was most likely meant. It makes
// the section's table; ok is false if there is no such section. It reports each wrong path once per
// file.
func (m *merge) section(path []string, e entry) (s section, name string, ok bool) {
	right := correctPath(path)
	s, name, ok = find(right)
	fault := ""
	switch {
	case !slices.Equal(right, path):
		fault = fmt.Sprintf("unknown section [%s]%s", printPath(path), sectionHint(path, right))
	case !ok && !e.table:
		fault = fmt.Sprintf("[%s] has no keys of its own, only sections below it%s", printPath(path), sectionOfKey(e.path[len(path)], ""))
	case ok:
		if err := s.checkName(name); err != nil {
			fault, ok = fmt.Sprintf("[%s]: %v", printPath(path), err), false
		}
	}
	if said := e.at.File + "\x00" + strings.Join(path, "\x00"); fault != "" && !m.said[said] {
		m.said[said] = true
		m.problems.addf(e.at, "", "%s", fault)
	}
	if ok && s.add != nil {
		s.add(&m.cfg, name)
	}
	return s, name, ok
}

// sectionHint suggests what to write instead of an unknown section. The argument nearest is the
// nearest path, or nil.
func sectionHint(path, nearest []string) string {
	if nearest != nil {
		return fmt.Sprintf(": did you mean [%s]?", printPath(nearest))
	}
	for _, s := range sections() {
		above := len(s.path) - 1
		switch {
		case s.placeholder == "" || s.allowed != nil:
		case len(path) > len(s.path)+1 && hasPrefix(path, s.path):
			return fmt.Sprintf(": a name with a dot is written in quotes: [%s.\"%s\"]", title(s.path...), printKey(path[len(s.path):]))
		case above > 0 && len(path) == len(s.path) && hasPrefix(path, s.path[:above]):
			return fmt.Sprintf(": did you mean [%s.%s]?", title(s.path...), printKey(path[above:]))
		}
	}
	return "; the sections are " + sectionNames()
}

// keyHint suggests what to write instead of an unknown key of a section.
func keyHint(known []key, name string) string {
	if near := job.Nearest(name, namesOf(known)); near != "" {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return sectionOfKey(name, "; its keys are "+strings.Join(namesOf(known), ", "))
}

// sectionOfKey names the section that a misplaced key belongs to. If there is none, it returns the
// argument fallback.
func sectionOfKey(name, fallback string) string {
	for _, k := range keys() {
		if k.name == name {
			return ": it belongs to [" + k.section + "]"
		}
	}
	return fallback
}

// printKey returns a key as written, escaped if it could affect a terminal.
func printKey(path []string) string {
	return printed(strings.Join(path, "."))
}

// printPath returns the path of a table as TOML spells it.
func printPath(path []string) string { return printed(title(path...)) }

func printed(s string) string {
	const longest = 80
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "…"
	}
	if !job.Printable(s) {
		return strings.Trim(strconv.QuoteToASCII(s), `"`)
	}
	return s
}
