package vm

import "testing"

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
