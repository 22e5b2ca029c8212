package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/gpusched/gpusched/daemon/job"
)

// entry is one statement of a file.
type entry struct {
	path  []string
	value any    // value of a key; nil for a table
	table bool   // a [table] header
	at    Origin // where the key's name begins
}

// parseDocument returns the entries of a file in order. If a file is not TOML, that is one problem,
// at the place where the decoder gave up.
//
// The decoder knows the whole language, and gives the values. After it has accepted the file, a
// walk over the syntax gives the places.
func parseDocument(name string, data []byte, problems *Problems) []entry {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // editors of Windows write this mark at the beginning of UTF-8
	var values map[string]any
	if err := toml.Unmarshal(data, &values); err != nil {
		if first, again, rest, ok := findRepeated(data); ok {
			problems.addf(Origin{File: name, Line: again.Line, Column: again.Column}, "",
				"[%s] already exists: write what follows it under the [%s] of line %d", again.name, again.name, first.Line)
			return parseDocument(name, rest, problems) // without the repeated table, to find further problems
		}
		at := Origin{File: name}
		var decodeErr *toml.DecodeError
		if errors.As(err, &decodeErr) {
			at.Line, at.Column = decodeErr.Position()
		}
		problems.addf(at, "", "it is not TOML: %s", notTOML(data, at, err))
		return nil
	}
	w := walk{name: name, values: values, problems: problems}
	w.parser.Reset(data)
	for w.parser.NextExpression() {
		w.expression(w.parser.Expression())
	}
	return w.entries
}

// notTOML says why a file is not TOML, for mistakes that the decoder describes by a single byte.
func notTOML(data []byte, at Origin, err error) string {
	line := bytes.Split(data, []byte("\n"))[max(at.Line, 1)-1]
	rest := line[min(max(at.Column, 1)-1, len(line)):]
	r, size := utf8.DecodeRune(rest)
	switch word := strings.ToLower(string(bytes.TrimRight(rest, " \t\r"))); {
	case bytes.IndexByte(data, 0) >= 0:
		return "it has bytes of value 0, as in UTF-16: save it as UTF-8"
	case !utf8.Valid(data):
		return "it has bytes that are not UTF-8: save it as UTF-8"
	case strings.ContainsRune("“”„‘’«»", r) && size > 1:
		return fmt.Sprintf("%c is not a quotation mark here: write \"", r)
	case size > 1 && !job.Printable(string(r)):
		return fmt.Sprintf("unexpected character %U, which isn't visible: delete it", r)
	case size > 1:
		return fmt.Sprintf("unexpected character %c: text stands in \"quotes\"", r)
	case slices.Contains([]string{"yes", "no", "on", "off"}, word):
		return fmt.Sprintf("%s is not a value: write true or false, or text in \"quotes\"", word)
	}
	return strings.TrimPrefix(err.Error(), "toml: ")
}

// header is a [table] of a file.
type header struct {
	Origin
	name string
}

// findRepeated finds the first table that a file begins twice, which TOML forbids. It also returns
// the file rewritten, with blank lines in place of the second header and its lines.
func findRepeated(data []byte) (first, second header, rewritten []byte, ok bool) {
	w, seen := walk{}, map[string]header{}
	lines := bytes.SplitAfter(data, []byte("\n"))
	end := len(lines) + 1
	w.parser.Reset(data)
	for w.parser.NextExpression() {
		n := w.parser.Expression()
		if n.Kind != unstable.Table && n.Kind != unstable.ArrayTable {
			continue
		}
		path, at := w.key(n)
		if ok {
			end = at.Line
			break
		}
		h := header{at, printKey(path)}
		first, ok = seen[h.name]
		if ok = ok && n.Kind == unstable.Table; ok {
			second = h
			continue
		}
		seen[h.name] = h
	}
	if !ok {
		return first, second, nil, false
	}
	for i, line := range lines {
		if n := i + 1; n >= second.Line && n < end {
			line = []byte("\n")
		}
		rewritten = append(rewritten, line...)
	}
	return first, second, rewritten, true
}

// walk collects the entries of one file.
type walk struct {
	name     string
	parser   unstable.Parser
	values   map[string]any
	table    []string
	list     bool // inside a [[table]]
	entries  []entry
	problems *Problems
}

func (w *walk) expression(n *unstable.Node) {
	switch n.Kind {
	case unstable.Table:
		path, at := w.key(n)
		w.table, w.list = path, false
		w.entries = append(w.entries, entry{path: path, table: true, at: at})
	case unstable.ArrayTable:
		path, at := w.key(n)
		w.table, w.list = path, true
		w.problems.addf(at, strings.Join(path, "."), "[[%s]] starts a list of sections, which no setting is: write [%s]", printKey(path), printKey(path))
	case unstable.KeyValue:
		if !w.list {
			w.addPair(w.table, n)
		}
	}
}

// addPair adds a key with its value. If the value is a table in braces, and the key names a
// section, addPair adds the keys of the table to the section. Braces may be nested.
func (w *walk) addPair(table []string, n *unstable.Node) {
	path, at := w.key(n)
	path = append(append([]string(nil), table...), path...)
	value := n.Value()
	if value.Kind != unstable.InlineTable || (len(path) > 1 && !leadsToSection(correctPath(path))) {
		w.entries = append(w.entries, entry{path: path, value: lookUp(w.values, path), at: at})
		return
	}
	w.entries = append(w.entries, entry{path: path, table: true, at: at})
	for it := value.Children(); it.Next(); {
		if child := it.Node(); child.Kind == unstable.KeyValue {
			w.addPair(path, child)
		}
	}
}

// key returns the dotted key of a node, and the place where it begins.
func (w *walk) key(n *unstable.Node) (path []string, at Origin) {
	for it := n.Key(); it.Next(); {
		part := it.Node()
		if path == nil {
			start := w.parser.Shape(part.Raw).Start
			at = Origin{File: w.name, Line: start.Line, Column: start.Column}
		}
		path = append(path, string(part.Data))
	}
	return path, at
}

// lookUp returns the value at a path; nil if there is none.
func lookUp(values map[string]any, path []string) any {
	var v any = values
	for _, part := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[part]
	}
	return v
}
