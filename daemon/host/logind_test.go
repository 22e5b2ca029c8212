package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// RemoveIPC= is read as systemd reads it. The default is yes. If several files have the same name,
// only the first is read. If files with different names have the setting, the last name decides.
func TestSharedMemory(t *testing.T) {
	const no, yes = "[Login]\nRemoveIPC=no\n", "[Login]\n RemoveIPC = Yes\n"
	for name, c := range map[string]struct {
		files   map[string]string
		removes bool
	}{
		"no file":            {nil, true},
		"a comment":          {map[string]string{"etc/systemd/logind.conf": "[Login]\n#RemoveIPC=no\n"}, true},
		"the file":           {map[string]string{"usr/lib/systemd/logind.conf": no}, false},
		"another section":    {map[string]string{"etc/systemd/logind.conf": "[Other]\nRemoveIPC=no\n"}, true},
		"the site's file":    {map[string]string{"usr/lib/systemd/logind.conf": yes, "etc/systemd/logind.conf": no}, false},
		"our drop-in":        {map[string]string{"etc/systemd/logind.conf": yes, "etc/systemd/logind.conf.d/50-gpusched.conf": no}, false},
		"a later drop-in":    {map[string]string{"etc/systemd/logind.conf.d/50-gpusched.conf": no, "usr/lib/systemd/logind.conf.d/60-x.conf": yes}, true},
		"a masked drop-in":   {map[string]string{"etc/systemd/logind.conf.d/a.conf": "", "usr/lib/systemd/logind.conf.d/a.conf": no}, true},
		"no value":           {map[string]string{"etc/systemd/logind.conf": no + "RemoveIPC=\n"}, false},
		"no drop-in by name": {map[string]string{"etc/systemd/logind.conf.d/a.conf.off": no}, true},
	} {
		got := checkSharedMemory(rootWith(t, c.files))
		if removes := strings.Contains(got.Detail, "RemoveIPC=yes"); removes != c.removes || removes != (got.Next != "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// rootWith returns a directory with these files.
func rootWith(t *testing.T, files map[string]string) string {
	root := t.TempDir()
	for path, text := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
