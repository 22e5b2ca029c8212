package client

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestStrangersIn: what somebody else can have written, or can put in a file's place, is
// not the caller's; what lies in a directory such as /tmp can be.
func TestStrangersIn(t *testing.T) {
	own := &app{startedWith: startedWith{uid: os.Getuid(), environ: []string{"PATH=/usr/bin:/bin"}}}
	other := &app{startedWith: startedWith{uid: os.Getuid() + 1, environ: own.environ}}
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

// A user's own group has its name and nobody else in it, neither as a member nor as the
// first group of another account. Which of a directory are whose is not known.
func TestOwnGroup(t *testing.T) {
	const users = "root:x:0:0::/root:/bin/sh\nalice:x:1001:1001::/home/alice:/bin/sh\nbob:x:1002:1005::/home/bob:/bin/sh\n" +
		"dave:x:1006:1006::/home/dave:/bin/sh\nbatch:x:1007:1006::/:/bin/sh\nerin:x:1008:1008::/home/erin:/bin/sh\n"
	const groups = "root:x:0:\nalice:x:1001:\nbob:x:1005:bob,root\nlab:x:1010:alice\ncarol:x:1003:bob\ndave:x:1006:\nerin:x:1008:\nalias:x:1008:bob\n"
	for _, c := range []struct {
		uid, gid int
		own      bool
	}{
		{1001, 1001, true}, {1002, 1005, true}, {1001, 1010, false}, {1001, 1005, false}, {1003, 1003, false}, {0, 0, true},
		{1006, 1006, false}, {1008, 1008, false}, {200100, 200100, false}, {200100, 200000, false},
	} {
		if got := ownGroup(users, groups, c.uid, c.gid); got != c.own {
			t.Errorf("%d in %d: %t", c.uid, c.gid, got)
		}
	}
}

// madeFor is a directory of root's that the group of that number may write.
type madeFor struct {
	os.FileInfo
	gid uint32
}

func (madeFor) Mode() os.FileMode { return os.ModeDir | 0o770 }
func (m madeFor) Sys() any        { return &syscall.Stat_t{Gid: m.gid} }

// A directory of root's that a group may write is the caller's where that is the caller's own
// group, and others' where it is another's. Account 1 of a system has such a group.
func TestCallersGroupWrites(t *testing.T) {
	for uid, others := range map[int]bool{1: false, 2: true} {
		a := &app{startedWith: startedWith{uid: uid}}
		if got := a.othersWrite(t.TempDir(), madeFor{gid: 1}); got != others {
			t.Errorf("account %d: others write it: %t", uid, got)
		}
	}
}

// TestBesides: a program that others could have put there is not the package's; one of whoever could have changed
// gpusched itself is.
func TestBesides(t *testing.T) {
	me := os.Getuid()
	for name, c := range map[string]struct {
		bin, file  os.FileMode
		owner, uid int // owner counts for root alone: a plain user can give nothing away
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
		if got := (&app{startedWith: startedWith{uid: c.uid}}).comesWith(cmp.Or(c.self, path), path, below); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
