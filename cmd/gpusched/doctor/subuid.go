package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/subuid"
)

// checkSubuid looks at the ranges by which jobs and requests of a user's
// containers are counted as the user's: where two users share numbers, one pays
// for the other.
func (h host) checkSubuid() job.Check {
	const name = "subordinate uids"
	const next = "give each user a range of its own in /etc/subuid: usermod --del-subuids, --add-subuids"
	data, err := os.ReadFile(h.path("/etc/subuid"))
	if errors.Is(err, fs.ErrNotExist) {
		return healthy(name, "none are assigned")
	}
	if err != nil {
		return unreadable(name, err)
	}
	ranges, bad := subuid.Parse(string(data))
	if len(bad) > 0 {
		return degraded(name, fmt.Sprintf("line %d of /etc/subuid is not NAME:FIRST:COUNT with numbers from %d on, "+
			"and is not counted", bad[0], subuid.Lowest), next)
	}
	for i, a := range ranges {
		other := slices.IndexFunc(ranges[:i], func(b subuid.Range) bool { return a.Owner != b.Owner && a.Overlaps(b) })
		if other >= 0 {
			return degraded(name, fmt.Sprintf("%s and %s share some: what the containers of both do "+
				"is counted for one of them", ranges[other].Owner, a.Owner), next)
		}
	}
	if len(ranges) == 1 {
		return healthy(name, "1 range, of one user")
	}
	return healthy(name, fmt.Sprintf("%d ranges, each of one user", len(ranges)))
}
