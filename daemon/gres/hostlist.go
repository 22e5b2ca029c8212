package gres

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// mostNames is the maximum number of names that all expressions of a site can expand to, taken
// together. mostRanges is the maximum number of brackets in one expression.
const (
	mostNames  = 1 << 20
	mostRanges = 8
)

// A budget is the number of names that may still be made.
type budget int

// expand yields the names that an expression such as "n[1-3,07],x" expands to, in order. Text that
// is not a range is kept as it is.
func (b *budget) expand(expr string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for part := range elements(expr) {
			if !expand("", part, mostRanges, func(name string) bool {
				*b--
				return *b >= 0 && yield(name)
			}) {
				return
			}
		}
	}
}

// elements splits an expression at the commas outside brackets, and yields the parts.
func elements(expr string) iter.Seq[string] {
	return func(yield func(string) bool) {
		depth, from := 0, 0
		for i, r := range expr {
			switch {
			case r == '[':
				depth++
			case r == ']':
				depth = max(0, depth-1)
			case r == ',' && depth == 0:
				if !yield(expr[from:i]) {
					return
				}
				from = i + 1
			}
		}
		yield(expr[from:])
	}
}

// expand yields the names of one element. It stops and returns false when yield returns false.
func expand(prefix, rest string, ranges int, yield func(string) bool) bool {
	before, after, ok := strings.Cut(rest, "[")
	inside, tail, closed := strings.Cut(after, "]")
	if !ok || !closed || ranges == 0 {
		return prefix+rest == "" || yield(prefix+rest)
	}
	for item := range strings.SplitSeq(inside, ",") {
		first, last, isRange := strings.Cut(item, "-")
		from, err := strconv.ParseUint(first, 10, 32)
		to, err2 := strconv.ParseUint(last, 10, 32)
		if !isRange || err != nil || err2 != nil {
			if !expand(prefix+before+item, tail, ranges-1, yield) {
				return false
			}
			continue
		}
		for n := from; n <= to; n++ {
			if !expand(fmt.Sprintf("%s%s%0*d", prefix, before, len(first), n), tail, ranges-1, yield) {
				return false
			}
		}
	}
	return true
}

// includesAny reports whether an expression includes any of the hosts.
func (b *budget) includesAny(expr string, hosts []string) bool {
	for name := range b.expand(expr) {
		for _, host := range hosts {
			if strings.EqualFold(name, host) {
				return true
			}
		}
	}
	return false
}
