package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Empty reports whether no process is in the control group and those below it, as in
// one that is not there. One that can't be read is not empty, nor is one below a slice
// that is not there either: its hierarchy is mounted elsewhere, or as others see it.
func Empty(root, group string) bool {
	events, err := os.ReadFile(filepath.Join(root, group, "cgroup.events"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) { // it is gone, or went just now
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
