package config

import (
	"fmt"
	"strings"
)

// Problem is one fault of a file: where, what and why, and what to write
// instead.
type Problem struct {
	Origin        // File is always set where a file is at fault, Line only where a line is
	Key    string // full name such as "jobs.max_time"; "" where it is not about one key
	Text   string
}

// String prints the problem as file:line:column: text, the form editors jump to.
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Text
	case p.Line == 0:
		return p.File + ": " + p.Text
	}
	return p.Origin.String() + ": " + p.Text
}

// Problems is every fault found, in the order of files and lines.
type Problems []Problem

// Error prints the problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

func (p *Problems) addf(at Origin, key, format string, args ...any) {
	*p = append(*p, Problem{Origin: at, Key: key, Text: fmt.Sprintf(format, args...)})
}

// err returns nil when there is no problem.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// Origin is where a value was written.
type Origin struct {
	File   string
	Line   int // from 1
	Column int // in bytes, from 1
}

// String prints file:line:column.
func (o Origin) String() string { return fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Column) }

// Origins holds the origin of each key that a file sets, by its full name such
// as "jobs.default_mem". A key that is not in it has its default.
type Origins map[string]Origin
