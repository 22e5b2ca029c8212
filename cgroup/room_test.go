package cgroup

import (
	"os"
	"path/filepath"
	"testing"
)

// A job has no more room than the slices that it is in.
func TestRoomInSlices(t *testing.T) {
	const none, some, little = "max", "1000", "700"
	for _, c := range []struct {
		top, user, own string // the limits; 600 is in use in each group
		want           int64
	}{
		{none, none, some, 400}, {none, little, some, 100}, {none, some, little, 100}, {little, some, none, 100}, {none, none, none, Unknown},
	} {
		root := t.TempDir()
		for name, limit := range map[string]string{"a.slice": c.top, "a.slice/b.slice": c.user, "a.slice/b.slice/c.service": c.own} {
			dir := filepath.Join(root, name)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{"memory.max": limit, "memory.current": "600", "memory.stat": "anon 600\n"} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := Room(root, "/a.slice/b.slice/c.service"); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestRoom(t *testing.T) {
	for _, c := range []struct {
		name               string
		limit, now, detail string
		want               int64
	}{
		{"room", "1000\n", "600\n", "anon 300\ninactive_file 200\nactive_file 50\n", 650},
		{"none", "1000\n", "1000\n", "anon 1000\ninactive_file 0\n", 0},
		{"no limit", "max\n", "600\n", "anon 600\n", Unknown},
		{"no controller", "", "", "", Unknown},
		{"no details", "1000\n", "600\n", "", Unknown},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{"memory.max": c.limit, "memory.current": c.now, "memory.stat": c.detail} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := Room(dir, "/"); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
