package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
)

// checkSubuid looks at the ranges by which jobs and requests of a user's
// containers are counted as the user's: where two users share numbers, one pays
// for the other.
func (h host) checkSubuid() api.Check {
	const name, next = "subordinate uids", "give each user a range of its own in /etc/subuid: usermod --del-subuids, --add-subuids"
	data, err := os.ReadFile(h.path("/etc/subuid"))
	if errors.Is(err, fs.ErrNotExist) {
		return healthy(name, "nobody has any")
	}
	if err != nil {
		return unreadable(name, err)
	}
	type owned struct {
		user       string
		first, end uint64
	}
	var ranges []owned
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		f := strings.Split(line, ":")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var first, count uint64
		if len(f) == 3 {
			first, err = strconv.ParseUint(f[1], 10, 31)
			count, _ = strconv.ParseUint(f[2], 10, 31)
		}
		if count == 0 || err != nil {
			return degraded(name, fmt.Sprintf("line %d of /etc/subuid is no NAME:FIRST:COUNT, and is not counted", n), next)
		}
		ranges = append(ranges, owned{f[0], first, first + count})
	}
	for i, a := range ranges {
		other := slices.IndexFunc(ranges[:i], func(b owned) bool { return a.user != b.user && a.first < b.end && b.first < a.end })
		if other >= 0 && a.user != "root" && ranges[other].user != "root" {
			return degraded(name, fmt.Sprintf("%s and %s share some: what the containers of both do is counted for one of them", ranges[other].user, a.user), next)
		}
	}
	return healthy(name, fmt.Sprintf("%d ranges, each of one user", len(ranges)))
}
