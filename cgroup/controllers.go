package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Controllers lists, sorted, what the kernel can limit and count below the directory root: "cpu",
// "memory", "pids" and others. Systemd accepts a limit whose controller is missing, but nothing
// enforces that limit. In a hybrid hierarchy, in which version 1 still has controllers, that
// directory has no list of them, and Controllers fails.
func Controllers(root string) ([]string, error) {
	raw, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err != nil {
		return nil, fmt.Errorf("controllers of %q: %w", root, err)
	}
	list := strings.Fields(string(raw))
	slices.Sort(list)
	return list, nil
}

// Missing returns the controllers that the limits of jobs need and that the argument controllers
// lacks.
func Missing(controllers []string) []string {
	present := func(name string) bool { return slices.Contains(controllers, name) }
	return slices.DeleteFunc([]string{"memory", "pids", "cpu"}, present)
}
