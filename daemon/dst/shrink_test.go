package dst

import (
	"slices"
	"strings"
)

// shrinkRuns is the maximum number of plans that Shrink tries.
const shrinkRuns = 3000

// Shrink makes a failing plan smaller. It leaves out entries as long as the plan still fails in the
// same way: first all entries after the failure, then whole kinds of entries, then parts of the
// plan, down to single entries. The argument run carries out a plan.
func Shrink(p Plan, run func(Plan) Result) Plan {
	s := shrinker{run: run, left: shrinkRuns}
	first := run(p)
	if !first.Failed() {
		return p
	}
	s.want = invariantOf(first.Breaches[0])
	p = s.without(p, func(_ int, e Entry) bool { return e.At > first.Elapsed })
	for before := -1; before != len(p.Entries); {
		before = len(p.Entries)
		p = s.byKind(p)
		for size := max(len(p.Entries)/2, 1); ; size /= 2 {
			p = s.byParts(p, size)
			if size == 1 {
				break
			}
		}
	}
	return p
}

type shrinker struct {
	run  func(Plan) Result
	want string
	left int
}

// invariantOf returns the part of a breach by which failures of the same kind are recognized.
func invariantOf(breach string) string {
	name, _, _ := strings.Cut(breach, ":")
	return name
}

func (s *shrinker) fails(p Plan) bool {
	if s.left == 0 {
		return false
	}
	s.left--
	r := s.run(p)
	return r.Failed() && invariantOf(r.Breaches[0]) == s.want
}

// without returns the plan p without the entries for which omit returns true, if that plan still
// fails. Otherwise it returns p.
func (s *shrinker) without(p Plan, omit func(int, Entry) bool) Plan {
	less := p
	less.Entries = nil
	for i, e := range p.Entries {
		if !omit(i, e) {
			less.Entries = append(less.Entries, e)
		}
	}
	if len(less.Entries) < len(p.Entries) && s.fails(less) {
		return less
	}
	return p
}

func (s *shrinker) byKind(p Plan) Plan {
	tried := map[Kind]bool{}
	for _, first := range p.Entries {
		if !tried[first.Kind] {
			tried[first.Kind] = true
			p = s.without(p, func(_ int, e Entry) bool { return e.Kind == first.Kind })
		}
	}
	return p
}

func (s *shrinker) byParts(p Plan, size int) Plan {
	for at := 0; at < len(p.Entries); {
		less := s.without(p, func(i int, _ Entry) bool { return i >= at && i < at+size })
		if len(less.Entries) == len(p.Entries) {
			at += size
		}
		p = less
	}
	return p
}

// Only returns a plan with only those entries of p that have these numbers.
func (p Plan) Only(names []int) Plan {
	p.Entries = slices.DeleteFunc(slices.Clone(p.Entries), func(e Entry) bool { return !slices.Contains(names, e.Num) })
	return p
}

// Names returns the numbers of the plan's entries.
func (p Plan) Names() []int {
	names := make([]int, len(p.Entries))
	for i, e := range p.Entries {
		names[i] = e.Num
	}
	return names
}
