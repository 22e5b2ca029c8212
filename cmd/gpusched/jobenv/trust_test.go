package jobenv

import (
	"os"
	"syscall"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
)

// A user's own group has the user's name. No other account is a member of it or has it as its
// primary group. A group from a directory service never counts.
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

// madeFor is a directory that belongs to root and that one group may write to.
type madeFor struct {
	os.FileInfo
	gid uint32
}

func (madeFor) Mode() os.FileMode { return os.ModeDir | 0o770 }
func (m madeFor) Sys() any        { return &syscall.Stat_t{Gid: m.gid} }

// A directory of root is trusted if the caller's own group may write to it. It is not trusted if
// another user's group may. On most systems, account 1 has a group of its own.
func TestTheCallersOwnGroupMayWrite(t *testing.T) {
	for uid, alternatives := range map[int]bool{1: false, 2: true} {
		a := &cli.App{Env: cli.Env{UID: uid}}
		if got := OthersWrite(a, t.TempDir(), madeFor{gid: 1}); got != alternatives {
			t.Errorf("account %d: others write it: %t", uid, got)
		}
	}
}
