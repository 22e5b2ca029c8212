package server

import (
	"slices"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

func TestShapes(t *testing.T) {
	base := []string{"python", "train.py", "--lr=1e-3", "--name=a"}
	for _, tt := range []struct {
		argv          []string
		shape, script bool // whether shapeOf and scriptOf return the same as for base
	}{
		{base, true, true},
		{[]string{"python", "train.py", "--lr=12e-45", "--name=a"}, true, true},
		{[]string{"python", "train.py", "--lr=1e-3", "--name=b"}, false, true},
		{[]string{"python", "train.py", "--lr=1e-3--name=a"}, false, true},
		{[]string{"python", "-u", "train.py"}, false, true},
		{[]string{"python", "test.py", "--lr=1e-3", "--name=a"}, false, false},
		{[]string{"python3", "train.py", "--lr=1e-3", "--name=a"}, false, false},
		{nil, false, false},
	} {
		if got := shapeOf(1, tt.argv) == shapeOf(1, base); got != tt.shape {
			t.Errorf("%q has the same shape: %v", tt.argv, got)
		}
		if got := scriptOf(1, tt.argv) == scriptOf(1, base); got != tt.script {
			t.Errorf("%q has the same script: %v", tt.argv, got)
		}
	}
	if shapeOf(1, base) == shapeOf(2, base) || scriptOf(1, base) == scriptOf(2, base) || shapeOf(1, nil) == scriptOf(1, nil) {
		t.Error("two users or two kinds share a hash")
	}
	if n := len(shapeOf(1, base)); n == 0 || n > job.MaxKeyBytes {
		t.Errorf("a shape has %d bytes", n)
	}
}

func TestTheScriptOfACommand(t *testing.T) {
	for want, args := range map[string][]string{
		"":         {"-x", "--y"},
		"train.py": {"-m", "torch.distributed.run", "--nproc", "4", "train.py", "b.py"},
		"run":      {"--fast", "run", "now"},
	} {
		if got := script(args); got != want {
			t.Errorf("script of %q is %q, want %q", args, got, want)
		}
	}
}

// Invariant 2: a group's quota counts for a user if the connection or the host's files say that the
// user is in the group. A process without groups, a subordinate uid, or a session that began before
// the membership does not help a user to escape the quota.
func TestQuotaGroupsAreThePeersOwn(t *testing.T) {
	s := testServer(queue(), nil)
	s.opt.Person = func(uid int) (int, bool) {
		if uid >= 100_000 {
			return 1006, true
		}
		return uid, true
	}
	s.opt.Member = func(uid, gid int) (in, known bool) {
		return uid == 1006 && gid == groups["lab"], uid == 1006 || uid == 1003
	}
	for _, tt := range []struct {
		p    peer
		want []string
	}{
		{alice, nil},
		{operator, []string{"wheel"}},
		{peer{uid: 1006, gid: 1006}, []string{"lab"}},
		{peer{uid: 100_005, gid: 100_005}, []string{"lab"}},
		{peer{uid: 1, gid: 2001}, []string{"lab"}},
		{peer{uid: 1, gid: 2001, groups: []uint32{27, 2001, 5}}, []string{"lab", "wheel"}},
	} {
		if !slices.IsSorted(tt.p.gids()) || !slices.Contains(tt.p.gids(), tt.p.gid) || len(tt.p.gids()) < len(tt.p.groups) {
			t.Errorf("%+v is in the groups %v", tt.p, tt.p.gids())
		}
		if got := s.accounts.quotaGroups(tt.p); !slices.Equal(got, tt.want) {
			t.Errorf("%+v is in %v, want %v", tt.p, got, tt.want)
		}
	}
}
