package config

import (
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// Problem is one fault of a file: the place, what is wrong, why, and what to write instead.
type Problem struct {
	Origin        // Origin.File is set if the problem is in a file, Origin.Line if it is in a line
	Key    string // full name of the key, such as "jobs.max_time"; "" if the problem is not about one key
	Text   string
}

// String returns file:line:column: text. Editors can jump to places in that form.
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Text
	case p.Line == 0:
		return p.File + ": " + p.Text
	}
	return p.Origin.String() + ": " + p.Text
}

// Problems has every fault, in the order of files and lines.
type Problems []Problem

// Error returns the problems, one a line.
func (p Problems) Error() string {
	return strings.Join(job.Each(p, Problem.String), "\n")
}

func (p *Problems) addf(at Origin, key, format string, args ...any) {
	*p = append(*p, Problem{Origin: at, Key: key, Text: fmt.Sprintf(format, args...)})
}

// err returns nil if there is no problem.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// Origin is the place in a file where a key is set.
type Origin struct {
	File   string
	Line   int // from 1
	Column int // in bytes, from 1
}

// String returns file:line:column.
func (o Origin) String() string { return fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Column) }

// Origins has the origin of each key that a file sets, by its full name such as "jobs.default_mem".
// All other keys have their defaults.
type Origins map[string]Origin
