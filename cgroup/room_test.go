package cgroup

import (
	"os"
	"path/filepath"
	"testing"
)

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
