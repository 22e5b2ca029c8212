package units

import (
	"math/bits"
	"strconv"
	"strings"
)

// maxCPU is the highest number of a CPU that a list may have.
const maxCPU = 1<<16 - 1

// cpuSet has a bit for each CPU, that of CPU 0 the lowest of the first byte, as
// systemd takes it on the bus. It does not end in a zero.
type cpuSet []byte

// parseCPUs reads a list as the kernel writes it, "0-15,32". What is not such a list
// is the empty set.
func parseCPUs(list string) cpuSet {
	var set cpuSet
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err1 := strconv.ParseUint(low, 10, 32)
		to, err2 := strconv.ParseUint(high, 10, 32)
		if err1 != nil || err2 != nil || from > to || to > maxCPU {
			return nil
		}
		for n := int(from); n <= int(to); n++ {
			set = set.with(n)
		}
	}
	return set
}

func (s cpuSet) with(n int) cpuSet {
	for len(s) <= n/8 {
		s = append(s, 0)
	}
	s[n/8] |= 1 << (n % 8)
	return s
}

func (s cpuSet) has(n int) bool { return n/8 < len(s) && s[n/8]>>(n%8)&1 == 1 }

// String is the list that parseCPUs reads.
func (s cpuSet) String() string {
	var parts []string
	for n := 0; n < 8*len(s); n++ {
		if !s.has(n) {
			continue
		}
		first := n
		for s.has(n + 1) {
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

// IntersectCPUs lists the CPUs that are on both lists; "" where there is none.
// Lists are those of the kernel, "0-15,32"; one that is not is empty.
func IntersectCPUs(a, b string) string {
	x, y := parseCPUs(a), parseCPUs(b)
	var both cpuSet
	for i := range min(len(x), len(y)) {
		for rest := x[i] & y[i]; rest != 0; rest &= rest - 1 {
			both = both.with(8*i + bits.TrailingZeros8(rest))
		}
	}
	return both.String()
}

// UnionCPUs lists the CPUs that are on any list. It is "" as soon as one list is
// empty: then nobody knows.
func UnionCPUs(lists ...string) string {
	var all cpuSet
	for _, list := range lists {
		set := parseCPUs(list)
		if len(set) == 0 {
			return ""
		}
		for n := range 8 * len(set) {
			if set.has(n) {
				all = all.with(n)
			}
		}
	}
	return all.String()
}
