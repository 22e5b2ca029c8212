package subuid

import (
	"strconv"
	"strings"
)

// Lowest is where ranges of users begin: what is below may be an account's uid.
const Lowest = 1 << 16

// Range is the uids from First up to, and without, End.
type Range struct {
	Owner      string // as written: a name or a uid
	First, End int
}

// Parse reads lines such as alice:100000:65536. Numbers of lines that make no
// sense, from 1, are in bad. Root's are left out, whose huge range for containers
// may take in accounts of a directory service.
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

// Overlaps reports whether a uid is in both ranges.
func (r Range) Overlaps(o Range) bool { return r.First < o.End && o.First < r.End }
