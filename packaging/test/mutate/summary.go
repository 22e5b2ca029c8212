package main

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
)

//go:embed explained.txt
var explained string

// excuse is a survivor that changes nothing that anybody could see.
type excuse struct{ file, change, line string }

// readExcuses reads explained.txt: file, change, text of the line and reason,
// separated by tabs; lines that begin with # are talk.
func readExcuses() (map[excuse]string, error) {
	all := map[excuse]string{}
	for line := range strings.Lines(explained) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 4 || f[3] == "" {
			return nil, fmt.Errorf("explained.txt: not file, change, line and reason: %q", line)
		}
		all[excuse{f[0], f[1], f[2]}] = f[3]
	}
	return all, nil
}

// counts are the mutants of a package.
type counts struct {
	files, killed, survived, excused int
}

// summary is what came of all mutants so far.
type summary struct {
	packages  []string
	counts    map[string]*counts
	survivors []string
}

func newSummary(packages []string) *summary {
	s := &summary{packages: packages, counts: map[string]*counts{}}
	for _, p := range packages {
		s.counts[p] = &counts{}
	}
	return s
}

func (s *summary) add(f source, mutants []mutant, excuses map[excuse]string) {
	c, path := s.counts[f.pkg], f.pkg+"/"+f.name
	c.files++
	for _, m := range mutants {
		if m.status == "killed" {
			c.killed++
			continue
		}
		if _, ok := excuses[excuse{path, m.change, m.text}]; ok {
			c.excused++
			continue
		}
		c.survived++
		s.survivors = append(s.survivors, fmt.Sprintf("%s:%d\t%s\t%s\t%s", path, m.line, m.change, m.status, m.text))
	}
}

func (s *summary) print(out io.Writer, left int) {
	slices.Sort(s.survivors)
	for _, line := range s.survivors {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintf(out, "%-14s %6s %8s %9s %10s %8s\n", "package", "files", "killed", "survived", "explained", "share")
	for _, p := range s.packages {
		c := s.counts[p]
		fmt.Fprintf(out, "%-14s %6d %8d %9d %10d %7.1f%%\n", p, c.files, c.killed, c.survived, c.excused, c.share())
	}
	if left > 0 {
		fmt.Fprintf(out, "%d files were not judged: the time was over\n", left)
	}
}

// share is the part of the mutants that were killed or explained, in percent.
func (c counts) share() float64 {
	all := c.killed + c.survived + c.excused
	if all == 0 {
		return 100
	}
	return 100 * float64(c.killed+c.excused) / float64(all)
}
