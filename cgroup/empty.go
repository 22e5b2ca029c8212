package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Empty reports whether neither the control group nor any group below it has a process. A missing
// group is empty. But if the slice above the group is missing too, the hierarchy is mounted
// elsewhere or hidden, so the group does not count as empty. Nor does a group that cannot be read.
func Empty(root, group string) bool {
	events, err := os.ReadFile(filepath.Join(root, group, "cgroup.events"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) { // gone, possibly only just now
		slice, _, below := strings.Cut(strings.TrimPrefix(group, "/"), "/")
		_, err = os.Stat(filepath.Join(root, slice, "cgroup.events"))
		return below && err == nil
	}
	for line := range strings.Lines(string(events)) {
		if strings.TrimSpace(line) == "populated 0" {
			return true
		}
	}
	return false
}
