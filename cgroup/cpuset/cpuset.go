package cpuset

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// A Set has a bit for each CPU, lowest bit first. It has no trailing zero bytes.
type Set []byte

// Parse parses a list in the kernel's format, "0-15,32": numbers below 65536 and ranges, separated
// by commas, in ascending order and without duplicates. "" is the empty set.
func Parse(list string) (Set, error) {
	if list == "" {
		return nil, nil
	}
	var set Set
	next := 0 // the lowest number that may follow
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err1 := strconv.ParseUint(low, 10, 16)
		to, err2 := strconv.ParseUint(high, 10, 16)
		if err1 != nil || err2 != nil || int(from) < next || to < from {
			return nil, fmt.Errorf("list of CPUs: %.64q is not a number or a range above those before it", part)
		}
		for next = int(from); next <= int(to); next++ {
			set = set.With(next)
		}
	}
	return set, nil
}

// With returns the set with CPU n added. The call may modify s.
func (s Set) With(n int) Set {
	for len(s) <= n/8 {
		s = append(s, 0)
	}
	s[n/8] |= 1 << (n % 8)
	return s
}

func (s Set) Has(n int) bool { return n/8 < len(s) && s[n/8]>>(n%8)&1 == 1 }

// Len returns the number of CPUs in the set.
func (s Set) Len() (n int) {
	for _, b := range s {
		n += bits.OnesCount8(b)
	}
	return n
}

// String returns the list that Parse reads.
func (s Set) String() string {
	var parts []string
	for n := 0; n < 8*len(s); n++ {
		if !s.Has(n) {
			continue
		}
		first := n
		for s.Has(n + 1) {
			n++
		}
		part := strconv.Itoa(first)
		if n > first {
			part += "-" + strconv.Itoa(n)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// Intersect lists the CPUs that are on both lists. A string that is not a valid list counts as
// empty.
func Intersect(a, b string) string {
	x, _ := Parse(a)
	y, _ := Parse(b)
	var both Set
	for i := range min(len(x), len(y)) {
		for rest := x[i] & y[i]; rest != 0; rest &= rest - 1 {
			both = both.With(8*i + bits.TrailingZeros8(rest))
		}
	}
	return both.String()
}

// Union lists the CPUs that are on any of the lists. If a list is empty or invalid, the result is
// "", which means unknown.
func Union(lists ...string) string {
	var all Set
	for _, list := range lists {
		set, _ := Parse(list)
		if len(set) == 0 {
			return ""
		}
		for n := range 8 * len(set) {
			if set.Has(n) {
				all = all.With(n)
			}
		}
	}
	return all.String()
}
