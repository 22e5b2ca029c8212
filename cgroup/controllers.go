package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Controllers lists what the kernel can limit and count below root, sorted:
// "cpu", "memory", "pids" and others. A limit whose controller is not among
// them is not enforced, though systemd takes it. A hybrid hierarchy, where version
// 1 still holds controllers, has no such list, which is an error.
func Controllers(root string) ([]string, error) {
	raw, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err != nil {
		return nil, fmt.Errorf("controllers of %q: %w", root, err)
	}
	list := strings.Fields(string(raw))
	slices.Sort(list)
	return list, nil
}

// Missing lists the controllers without which limits of l are not enforced.
func (l Limits) Missing(controllers []string) []string {
	var missing []string
	need := func(wanted bool, name string) {
		if wanted && !slices.Contains(controllers, name) {
			missing = append(missing, name)
		}
	}
	need(l.MemBytes > 0, "memory")
	need(l.TasksMax > 0, "pids")
	need(l.CPUs > 0, "cpu")
	return missing
}
