package site

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
)

// A program is not used if other users could have put it there. The owner of gpusched itself may
// have put it there.
func TestProgramPath(t *testing.T) {
	me := os.Getuid()
	for name, c := range map[string]struct {
		bin, file  os.FileMode
		owner, uid int // only root can test this, since other users can't give files away
		self       string
		want       bool
	}{
		"own":                             {0o755, 0o755, me, me, "/bin/sh", true},
		"all write the file":              {0o755, 0o757, me, me, "/bin/sh", false},
		"all write the directory":         {0o757, 0o755, me, me, "/bin/sh", false},
		"own, in a directory such as tmp": {0o777 | os.ModeSticky, 0o755, me, me, "/bin/sh", true},
		"another's, in such a directory":  {0o777 | os.ModeSticky, 0o755, 4712, 4711, "/bin/sh", false},
		"another's":                       {0o755, 0o755, 4712, 4711, "/bin/sh", false},
		"of gpusched's owner":             {0o755, 0o755, 4712, 4711, "", true},
	} {
		below := t.TempDir()
		bin := filepath.Join(below, "bin")
		path := filepath.Join(bin, "gpusched-slurm")
		if err := os.Mkdir(bin, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if me == 0 {
			_ = os.Chown(path, c.owner, c.owner)
			if c.self == "" {
				_ = os.Chown(bin, c.owner, c.owner)
			}
		}
		if err := errors.Join(os.Chmod(path, c.file), os.Chmod(bin, c.bin)); err != nil {
			t.Fatal(err)
		}
		if got := comesWith(&cli.App{Env: cli.Env{UID: c.uid}}, cmp.Or(c.self, path), path, below); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
