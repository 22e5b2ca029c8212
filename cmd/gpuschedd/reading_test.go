package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Settings that are not those that were read are told, whatever the clock says
// of them.
func TestSettingsThatWereNotRead(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(p paths) error
		want   string // "": nothing to tell
	}{
		"nothing":             {func(paths) error { return nil }, ""},
		"a new file":          {func(p paths) error { return os.WriteFile(filepath.Join(p.dropIns, "20.toml"), nil, 0o644) }, "20.toml is new"},
		"a file that is gone": {func(p paths) error { return os.Remove(filepath.Join(p.dropIns, "10.toml")) }, "10.toml is gone"},
		"an older version put back": {func(p paths) error {
			long := time.Now().Add(-48 * time.Hour)
			return os.Chtimes(p.config, long, long)
		}, "gpusched.toml was changed"},
		"a mistake": {func(p paths) error {
			return os.WriteFile(filepath.Join(p.dropIns, "20.toml"), []byte("[gpus]\nonyl = [1]\n"), 0o644)
		},
			"20.toml is new; a reload refuses them: "},
		"an unfinished file": {func(p paths) error { return os.WriteFile(filepath.Join(p.dropIns, "20.toml~"), nil, 0o644) }, ""},
	} {
		p := paths{config: filepath.Join(t.TempDir(), "gpusched.toml"), dropIns: t.TempDir()}
		for _, f := range []string{p.config, filepath.Join(p.dropIns, "10.toml")} {
			if err := os.WriteFile(f, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r, err := lookAtSettings(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := tt.change(p); err != nil {
			t.Fatal(err)
		}
		c := checkSettings(p, r, "")
		if (c.Health == job.Healthy) != (tt.want == "") || !strings.Contains(c.Detail, tt.want) {
			t.Errorf("%s: %s, %s", name, c.Health, c.Detail)
		}
	}
}

// A group of administrators that is not there is told, none at all is not.
func TestSettingsWithAGroupThatIsNotThere(t *testing.T) {
	p := paths{config: filepath.Join(t.TempDir(), "gpusched.toml"), dropIns: t.TempDir()}
	r, err := lookAtSettings(p)
	if err != nil {
		t.Fatal(err)
	}
	for group, want := range map[string]job.Health{"": job.Healthy, "root": job.Healthy, "no-such-group": job.Degraded} {
		if c := checkSettings(p, r, group); c.Health != want {
			t.Errorf("%q: %s, %s", group, c.Health, c.Detail)
		}
	}
}
