package supervise

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/directory"
	"github.com/gpusched/gpusched/daemon/job"
)

// Health reports settings files that were changed but not read again,
// whatever times the files have.
func TestSettingsThatWereNotRead(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(o Options) error
		want   string // "": nothing to report
	}{
		"nothing":             {func(Options) error { return nil }, ""},
		"a new file":          {func(o Options) error { return os.WriteFile(filepath.Join(o.DropIns, "20.toml"), nil, 0o644) }, "20.toml is new"},
		"a file that is gone": {func(o Options) error { return os.Remove(filepath.Join(o.DropIns, "10.toml")) }, "10.toml is gone"},
		"an older version put back": {func(o Options) error {
			long := time.Now().Add(-48 * time.Hour)
			return os.Chtimes(o.Config, long, long)
		}, "gpusched.toml was changed"},
		"a mistake": {func(o Options) error {
			return os.WriteFile(filepath.Join(o.DropIns, "20.toml"), []byte("[gpus]\nonyl = [1]\n"), 0o644)
		},
			"20.toml is new; a reload refuses them: "},
		"an unfinished file": {func(o Options) error { return os.WriteFile(filepath.Join(o.DropIns, "20.toml~"), nil, 0o644) }, ""},
	} {
		o := Options{Config: filepath.Join(t.TempDir(), "gpusched.toml"), DropIns: t.TempDir()}
		s := &Supervisor{opt: o, names: directory.New(hostFiles, nil)}
		for _, f := range []string{o.Config, filepath.Join(o.DropIns, "10.toml")} {
			if err := os.WriteFile(f, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		from, err := config.TakeSnapshot(o.Config, o.DropIns)
		if err != nil {
			t.Fatal(err)
		}
		if err := tt.change(o); err != nil {
			t.Fatal(err)
		}
		s.cfg.Store(&config.Config{})
		s.read.Store(&from)
		c := s.checkSettings()
		if (c.Health == job.Healthy) != (tt.want == "") || !strings.Contains(c.Detail, tt.want) {
			t.Errorf("%s: %s, %s", name, c.Health, c.Detail)
		}
	}
}

// Health reports a group of administrators that does not exist.
// A site without such a group is fine.
func TestSettingsWithAGroupThatIsNotThere(t *testing.T) {
	o := Options{Config: filepath.Join(t.TempDir(), "gpusched.toml"), DropIns: t.TempDir()}
	s := &Supervisor{opt: o, names: directory.New(hostFiles, nil)}
	from, err := config.TakeSnapshot(o.Config, o.DropIns)
	if err != nil {
		t.Fatal(err)
	}
	s.read.Store(&from)
	for group, want := range map[string]job.Health{"": job.Healthy, "root": job.Healthy, "no-such-group": job.Degraded} {
		s.cfg.Store(&config.Config{Daemon: config.Daemon{AdminGroup: group}})
		if c := s.checkSettings(); c.Health != want {
			t.Errorf("%q: %s, %s", group, c.Health, c.Detail)
		}
	}
}

// Quotas count for the groups that an account is in today. If the directory service was asked and
// did not answer, the groups of the account's last submission count.
func TestGroupsWithAQuota(t *testing.T) {
	s := &Supervisor{names: directory.New(directory.Files{
		UserName: func(uid int) string { return map[int]string{1001: "alice"}[uid] },
		GroupID: func(name string) (int, bool) {
			gid, ok := map[string]int{"lab": 2001, "class": 2002, "far": 2003}[name]
			return gid, ok
		},
		HasGroup: func(gid int) bool { return true },
		Member:   func(uid, gid int) (in, known bool) { return gid == 2001, uid == 1001 && gid != 2003 },
	}, nil)}
	s.cfg.Store(&config.Config{Quotas: job.Quotas{Groups: map[string]job.Quota{"lab": {}, "class": {}, "far": {}, "gone": {}}}})
	for wait, want := range map[bool][]string{false: {"lab"}, true: {"far", "lab"}} {
		if in := s.quotaGroups(1001, job.GIDs{2002, 2003}, wait); !slices.Equal(in, want) {
			t.Errorf("wait %t: %v", wait, in)
		}
	}
}
