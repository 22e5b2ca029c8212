package cgroup

import (
	"path/filepath"
	"testing"
)

func TestAllowedCPUs(t *testing.T) {
	root := tree(t, map[string]string{
		"top/cpuset.cpus.effective":              "0-7\n",
		"top/jobs.slice/cpuset.cpus.effective":   "2-3\n",
		"top/empty.slice/cpuset.cpus.effective":  "\n",
		"bare/jobs.slice/cgroup.procs":           "",
		"online":                                 "0-9\n",
		"top/jobs.slice/u1.slice/memory.current": "1\n",
	})
	online := filepath.Join(root, "online")
	for _, c := range []struct{ top, group, online, want string }{
		{"top", "/jobs.slice", online, "2-3"},
		{"top", "/jobs.slice/u1.slice", online, "2-3"},
		{"top", "/jobs.slice/u2.slice/not-yet.service", online, "2-3"},
		{"top", "/empty.slice", online, "0-7"},
		{"top", "", online, "0-7"},
		{"top", "/../../jobs.slice", online, "2-3"},
		{"bare", "/jobs.slice", online, "0-9"},
		{"bare", "/jobs.slice", online + "-not", ""},
	} {
		if got := AllowedCPUs(filepath.Join(root, c.top), c.group, c.online); got != c.want {
			t.Errorf("%s%s: %q, want %q", c.top, c.group, got, c.want)
		}
	}
}
