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

// Missing lists the controllers without which limits of jobs are not enforced.
func Missing(controllers []string) []string {
	present := func(name string) bool { return slices.Contains(controllers, name) }
	return slices.DeleteFunc([]string{"memory", "pids", "cpu"}, present)
}
