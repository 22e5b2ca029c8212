package host

import (
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

func TestHost(t *testing.T) {
	if boot, err := BootID(); err != nil || len(boot) != 36 {
		t.Errorf("boot id %q: %v", boot, err)
	}
	if mem, err := Memory(); err != nil || mem < 1<<20 {
		t.Errorf("host memory %d: %v", mem, err)
	}
	if cpus, err := CPUs(); err != nil || cpus < 1 || cpus > job.MaxCPUs {
		t.Errorf("%d CPUs: %v", cpus, err)
	}
	if uid, ok := UserID("root"); !ok || uid != 0 || UserName(0) != "root" || UserName(1<<30) != "" {
		t.Errorf("root is %d, %v, %q", uid, ok, UserName(0))
	}
}

// Health reports that journald does not read the log, and how many lines were dropped.
func TestCheckLog(t *testing.T) {
	if c := CheckLog(time.Time{}, 0); c.Health != job.Healthy {
		t.Errorf("while it reads: %+v", c)
	}
	if c := CheckLog(time.Now(), 100); c.Health != job.Degraded || !strings.Contains(c.Detail, "100 lines") || c.Next == "" {
		t.Errorf("while it does not: %+v", c)
	}
}

// The host's files answer only questions about groups that they have.
func TestMember(t *testing.T) {
	for _, c := range []struct {
		uid, gid  int
		in, known bool
	}{
		{0, 0, true, true}, {0, 65534, false, true}, {65534, 65534, true, true}, {65534, 0, false, true},
		{3_999_999, 0, false, false}, {0, 3_999_999, false, false},
	} {
		if in, known := Member(c.uid, c.gid); in != c.in || known != c.known {
			t.Errorf("user %d, group %d: %t, known %t", c.uid, c.gid, in, known)
		}
	}
	if !HasGroup(0) || HasGroup(3_999_999) {
		t.Error("groups of the files")
	}
}
