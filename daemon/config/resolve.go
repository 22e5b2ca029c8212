package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// resolve finds the key that an entry sets. An unknown name is a problem with
// the nearest known name as a suggestion; ok is false where there is nothing
// to set. The keys of a mistyped section are looked at as if it were spelled
// right, so that their own faults come to light at once.
func (m *merge) resolve(e entry) (full string, ok bool) {
	if len(e.path) == 1 && !e.table {
		m.problems.addf(e.at, "", "key \"%s\" stands outside of any section%s", printKey(e.path),
			belongs(e.path[0], "; the sections are "+bracketed(sections())))
		return "", false
	}
	parent := e.path
	if !e.table {
		parent = e.path[:len(e.path)-1]
	}
	section := m.section(parent, e.at)
	if e.table || section == "" {
		return "", false
	}
	name := e.path[1]
	if !slices.Contains(names(section), name) {
		m.problems.addf(e.at, "", "unknown key \"%s\" in [%s]%s", printKey(e.path[1:]), section, keyHint(section, name))
		return "", false
	}
	return section + "." + name, true
}

// section returns the section that a path names or was most likely meant to
// name, "" for none. What is wrong with the path is said once in each file.
func (m *merge) section(path []string, at Origin) string {
	near := ""
	if len(path) == 1 {
		near = nearest(path[0], sections())
		if near == path[0] {
			return near
		}
	}
	said := at.File + "\x00" + strings.Join(path, "\x00")
	if m.said[said] {
		return near
	}
	m.said[said] = true
	if near != "" {
		m.problems.addf(at, "", "unknown section [%s]: did you mean [%s]?", printKey(path), near)
	} else {
		m.problems.addf(at, "", "unknown section [%s]; the sections are %s", printKey(path), bracketed(sections()))
	}
	return near
}

// keyHint suggests what to write instead of an unknown key of a section.
func keyHint(section, name string) string {
	if near := nearest(name, names(section)); near != "" {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return belongs(name, "; its keys are "+strings.Join(names(section), ", "))
}

// belongs says to which section a key belongs that was found elsewhere, or
// otherwise.
func belongs(name, otherwise string) string {
	for _, k := range keys() {
		if k.name == name {
			return ": it belongs to [" + k.section + "]"
		}
	}
	return otherwise
}

// nearest returns the known name that s is or that it was most likely meant to
// be, "" if none is near.
func nearest(s string, known []string) string {
	best, bestDistance := "", max(1, min(len(s)/3, 3))+1
	for _, k := range known {
		if d := distance(s, k, bestDistance); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance counts the letters to change, add or drop between two names; names
// whose lengths alone differ by limit or more have the distance limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// printKey shows a key as written, or escaped where it could do something to a
// terminal.
func printKey(path []string) string {
	s := strings.Join(path, ".")
	const longest = 80
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "…"
	}
	if !job.Printable(s) {
		return strings.Trim(strconv.QuoteToASCII(s), `"`)
	}
	return s
}

func bracketed(list []string) string { return "[" + strings.Join(list, "], [") + "]" }
