package vm

import (
	"os"
	"path/filepath"
	"testing"
)

// Only what the host has, and of that what limits need; a host that says nothing is left alone.
func TestOfferControllers(t *testing.T) {
	for there, want := range map[string]string{"": "", "hugetlb memory rdma\n": "+memory"} {
		root := t.TempDir()
		control := filepath.Join(root, "cgroup.subtree_control")
		for file, text := range map[string]string{filepath.Join(root, "cgroup.controllers"): there, control: ""} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		scope{filepath.Join(root, "gpusched-vm-x")}.offerControllers()
		if got, err := os.ReadFile(control); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v, want %q", there, got, err, want)
		}
	}
}

func TestCgroup2Mount(t *testing.T) {
	const v1 = "30 25 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
	for _, c := range []struct {
		name, mountinfo, want string
		ok                    bool
	}{
		{"none", v1, "", false},
		{"alone", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n", "/sys/fs/cgroup", true},
		{"beside v1", v1 + "43 25 0:39 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup/unified", true},
		{"garbage", "cgroup2 - cgroup2\n\n", "", false},
	} {
		if got, ok := cgroup2Mount(c.mountinfo); got != c.want || ok != c.ok {
			t.Errorf("%s: %q, %v, want %q, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}
