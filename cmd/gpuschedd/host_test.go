package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
)

// TestNeedRestart names what a reload can't change, and nothing else.
func TestNeedRestart(t *testing.T) {
	old, now := config.Default(), config.Default()
	now.Jobs.MaxRunning++
	if keys := needRestart(old, now); keys != nil {
		t.Errorf("a reload can change this: %v", keys)
	}
	now.GPUs.NVMLLibrary, now.Daemon.StartsInFlight = "/x", 3
	if keys := needRestart(old, now); !slices.Equal(keys, []string{"daemon.starts_in_flight", "gpus.nvml_library"}) {
		t.Errorf("keys %v", keys)
	}
}

func TestHost(t *testing.T) {
	if boot, err := bootID(); err != nil || len(boot) != 36 {
		t.Errorf("boot id %q: %v", boot, err)
	}
	if mem, err := hostMemory(); err != nil || mem < 1<<20 {
		t.Errorf("host memory %d: %v", mem, err)
	}
	if uid, ok := userID("root"); !ok || uid != 0 || userName(0) != "root" || userName(1<<30) != "" {
		t.Errorf("root is %d, %v, %q", uid, ok, userName(0))
	}
}

// Health reports a journal that does not read, and what was left out.
func TestCheckJournalReads(t *testing.T) {
	if c := checkJournalReads(time.Time{}, 0); c.Health != job.Healthy {
		t.Errorf("while it reads: %+v", c)
	}
	if c := checkJournalReads(time.Now(), 100); c.Health != job.Degraded || !strings.Contains(c.Detail, "100 lines") || c.Next == "" {
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
		if got := inGroup(c.uid, c.gid); got != c.want {
			t.Errorf("user %d, group %d: %t", c.uid, c.gid, got)
		}
	}
}
