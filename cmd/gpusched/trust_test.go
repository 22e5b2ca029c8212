package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStrangersIn: what somebody else can have written, or can put in a file's place, is
// not the caller's; what lies in a directory such as /tmp can be.
func TestStrangersIn(t *testing.T) {
	own := &app{uid: os.Getuid(), environ: []string{"PATH=/usr/bin:/bin"}}
	other := &app{uid: os.Getuid() + 1, environ: own.environ}
	if os.Getuid() == 0 { // whom all trust: the files are another's
		other.uid = 4711
	}
	for name, c := range map[string]struct {
		file, dir os.FileMode
		a         *app
		want      string // "": the caller's
	}{
		"own":                      {0o644, 0o755, own, ""},
		"all write":                {0o646, 0o755, own, "can be written by others"},
		"all write the directory":  {0o644, 0o757, own, "directory that others can write"},
		"a directory such as /tmp": {0o644, 0o777 | os.ModeSticky, own, ""},
		"another's":                {0o644, 0o755, other, "belongs to "},
		"another's in /tmp":        {0o755, 0o777 | os.ModeSticky, other, "belongs to "},
	} {
		dir := filepath.Join(t.TempDir(), "dir")
		path, link := filepath.Join(dir, "pyhton"), filepath.Join(filepath.Dir(dir), "link")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() == 0 && c.a == other {
			_ = os.Chown(path, 4712, 4712)
		}
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
		for at, mode := range map[string]os.FileMode{path: c.file, dir: c.dir} {
			if err := os.Chmod(at, mode); err != nil {
				t.Fatal(err)
			}
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{path, link} {
			got := c.a.strangersIn(at, info)
			if c.want == "" && got != "" || !strings.Contains(got, c.want) && !strings.Contains(got, "belongs to ") {
				t.Errorf("%s, as %s: %q, not %q", name, filepath.Base(at), got, c.want)
			}
		}
		s, err := c.a.scriptOf(dir, "pyhton")
		if err != nil || (s != nil) != (c.want == "") {
			t.Errorf("%s: as a program %v, %v", name, s, err)
		}
		if s, err := c.a.scriptOf(dir, "./pyhton"); s == nil || err != nil {
			t.Errorf("%s: with a path %v, %v", name, s, err)
		}
	}
}

// A user's own group has its name, or in a directory its number, and nobody else.
func TestOwnGroup(t *testing.T) {
	const users = "root:x:0:0::/root:/bin/sh\nalice:x:1001:1001::/home/alice:/bin/sh\nbob:x:1002:1005::/home/bob:/bin/sh\n"
	const groups = "root:x:0:\nalice:x:1001:\nbob:x:1005:bob\nlab:x:1010:alice\ncarol:x:1003:bob\n"
	for _, c := range []struct {
		uid, gid int
		own      bool
	}{{1001, 1001, true}, {1002, 1005, true}, {1001, 1010, false}, {1001, 1005, false}, {1003, 1003, false}, {0, 0, true}, {200100, 200100, true}, {200100, 200000, false}} {
		if got := ownGroup(users, groups, c.uid, c.gid); got != c.own {
			t.Errorf("%d in %d: %t", c.uid, c.gid, got)
		}
	}
}
