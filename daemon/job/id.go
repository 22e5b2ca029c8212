package job

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/units/contract"
)

// ID is the number of a job, from 1 upwards, in the order of submission. 0 means no job.
type ID int64

// String returns the decimal form.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// Unit returns the name of the job's systemd unit, "gpujob-42.service".
func (id ID) Unit() string { return contract.UnitPrefix + id.String() + contract.UnitSuffix }

// ParseID reads a decimal id. It refuses signs, leading zeros and 0, so that each job has only one
// spelling.
func ParseID(s string) (ID, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || strconv.FormatInt(n, 10) != s {
		return 0, fmt.Errorf("%q is not a job id: ids are numbers such as 42 (see 'gpusched list')", s)
	}
	return ID(n), nil
}

// maxIDList is the largest number of ids, including duplicates, in a list such as 1-999999999. The
// bound is needed because any user may send a list to the daemon.
const maxIDList = 10_000

// ParseIDs reads a list of ids and ranges such as "12,14-16". The result is in the given order and
// has no duplicates.
func ParseIDs(s string) ([]ID, error) {
	var ids []ID
	seen := map[ID]bool{}
	room := int64(maxIDList)
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		first, err := ParseID(lo)
		if err != nil {
			return nil, err
		}
		last := first
		if isRange {
			if last, err = ParseID(hi); err != nil {
				return nil, err
			}
		}
		if last < first || int64(last-first) >= room {
			return nil, fmt.Errorf("range %q is empty or too long (a list names at most %d jobs)", part, maxIDList)
		}
		count := int64(last-first) + 1 // loops by count: the highest id has no successor
		room -= count
		for i := range count {
			if id := first + ID(i); !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}
