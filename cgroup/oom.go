package cgroup

import (
	"os"
	"path/filepath"
	"strings"
)

// KilledByOOM reports whether the kernel has killed a process of the control group, or of a group
// below it, for lack of memory.
func KilledByOOM(root, group string) bool {
	events, err := os.ReadFile(filepath.Join(root, group, "memory.events"))
	if err != nil {
		return false
	}
	for event := range strings.Lines(string(events)) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(event), "oom_kill "); ok {
			return n != "0"
		}
	}
	return false
}
