package installation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/subuid"
)

// checkSubuid checks the ranges of uids that containers use. gpusched uses these ranges to
// attribute the jobs and requests of containers to users. If the ranges of two users overlap, one
// user is charged for the other's jobs.
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
			"and is ignored", bad[0], subuid.Lowest), next)
	}
	for i, a := range ranges {
		other := slices.IndexFunc(ranges[:i], func(b subuid.Range) bool { return a.Owner != b.Owner && a.Overlaps(b) })
		if other >= 0 {
			return degraded(name, fmt.Sprintf("%s and %s share some, so what both users' containers do "+
				"is counted for one of them", ranges[other].Owner, a.Owner), next)
		}
	}
	for _, r := range ranges {
		if name, uid := h.accountIn(r); name != "" {
			return degraded("subordinate uids", fmt.Sprintf("uid %d of %s is in the range of %s, who can become %s (newuidmap)", uid, name, r.Owner, name),
				fmt.Sprintf("give %s another range: usermod --del-subuids %d-%d --add-subuids FIRST-LAST %s", r.Owner, r.First, r.End-1, r.Owner))
		}
	}
	if len(ranges) == 1 {
		return healthy(name, "1 range, of one user")
	}
	return healthy(name, fmt.Sprintf("%d ranges, each of one user", len(ranges)))
}

// accountIn returns an account in /etc/passwd whose uid is in the range, or "".
func (h host) accountIn(r subuid.Range) (name string, uid int) {
	data, err := os.ReadFile(h.path("/etc/passwd"))
	if err != nil {
		return "", 0
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(line, ":")
		if len(fields) < 3 {
			continue
		}
		if uid, err := strconv.Atoi(fields[2]); err == nil && uid >= r.First && uid < r.End {
			return fields[0], uid
		}
	}
	return "", 0
}
