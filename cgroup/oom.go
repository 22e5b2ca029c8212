package cgroup

import "path/filepath"

// KilledByOOM reports whether the kernel has killed a process of the control group, or of a group
// below it, for lack of memory.
func KilledByOOM(root, group string) bool {
	return readSum(filepath.Join(root, group), "memory.events", "oom_kill") > 0
}
