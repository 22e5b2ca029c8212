package cpuset

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Set has a bit for each CPU, that of CPU 0 the lowest of the first byte. It does
// not end in a zero.
type Set []byte

// Parse reads a list as the kernel writes it, "0-15,32": numbers below 65536 and
// ranges of them, with commas between, ascending, none twice. "" is the empty set.
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

// With returns the set with CPU n in it; it may change s.
func (s Set) With(n int) Set {
	for len(s) <= n/8 {
		s = append(s, 0)
	}
	s[n/8] |= 1 << (n % 8)
	return s
}

// Has reports whether CPU n is in the set.
func (s Set) Has(n int) bool { return n/8 < len(s) && s[n/8]>>(n%8)&1 == 1 }

// Len is the number of CPUs in the set.
func (s Set) Len() (n int) {
	for _, b := range s {
		n += bits.OnesCount8(b)
	}
	return n
}

// String is the list that Parse reads.
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

// Intersect lists the CPUs that are on both lists; "" where there is none. What is
// not a list is empty.
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

// Union lists the CPUs that are on any list. It is "" as soon as one list is empty,
// or is not a list: then the answer is unknown.
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
