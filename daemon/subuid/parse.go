package subuid

import (
	"strconv"
	"strings"
)

// Lowest is the lowest uid that a range may have. Lower uids may belong to accounts.
const Lowest = 1 << 16

// Range has the uids from First to the last one before End.
type Range struct {
	Owner      string // a name or a uid, as in the file
	First, End int
}

// Parse reads lines such as alice:100000:65536. The result bad has the numbers of invalid lines,
// counted from 1. Parse omits the ranges of root: root's range for containers is large, and may
// include accounts of a directory service.
func Parse(text string) (ranges []Range, bad []int) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		owner, rest, _ := strings.Cut(line, ":")
		if line == "" || strings.HasPrefix(line, "#") || owner == "root" || owner == "0" {
			continue
		}
		from, size, _ := strings.Cut(rest, ":")
		first, errFirst := strconv.ParseUint(from, 10, 31)
		count, errCount := strconv.ParseUint(size, 10, 31)
		if owner == "" || errFirst != nil || errCount != nil || first < Lowest || count == 0 {
			bad = append(bad, number)
			continue
		}
		ranges = append(ranges, Range{owner, int(first), int(first + count)})
	}
	return ranges, bad
}

// Overlaps reports whether any uid is in both ranges.
func (r Range) Overlaps(o Range) bool { return r.First < o.End && o.First < r.End }
