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

// Health reports a journal that does not read, and what was left out.
func TestCheckLog(t *testing.T) {
	if c := CheckLog(time.Time{}, 0); c.Health != job.Healthy {
		t.Errorf("while it reads: %+v", c)
	}
	if c := CheckLog(time.Now(), 100); c.Health != job.Degraded || !strings.Contains(c.Detail, "100 lines") || c.Next == "" {
		t.Errorf("while it does not: %+v", c)
	}
}

// What the host's files know of a group counts, and what they do not know does
// not.
func TestInGroup(t *testing.T) {
	for _, c := range []struct {
		uid, gid int
		want     bool
	}{{0, 0, true}, {0, 65534, false}, {65534, 65534, true}, {65534, 0, false}, {3_999_999, 0, true}, {0, 3_999_999, true}} {
		if got := InGroup(c.uid, c.gid); got != c.want {
			t.Errorf("user %d, group %d: %t", c.uid, c.gid, got)
		}
	}
}
