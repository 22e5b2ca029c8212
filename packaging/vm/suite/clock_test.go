//go:build machine

package suite

import (
	"strings"
	"testing"
	"time"
)

// TestBootClock: somebody sets the clock forward by a year and back. Jobs keep
// what they have left of their time limits, also over a restart of the scheduler,
// and health tells. (A container has its host's clock.)
func TestBootClock(t *testing.T) {
	begin(t)
	set := func(by string) { sh(t, "", "date -s \"$(date -d '"+by+"' '+%F %T')\" >/dev/null") }
	long := submit(t, "alice", "-g 0 -t 10h -- sleep 100000")
	short := submit(t, "alice", "-g 0 -t 120s -- sleep 100000")
	running(t, long)
	running(t, short)
	began := time.Now()
	set("+365 days")
	t.Cleanup(func() { set("-364 days") })
	until(t, "health tells", func() bool {
		text, _ := health(t)
		return strings.Contains(text, "forward by 365d")
	})
	sh(t, "", "systemctl restart gpusched")
	answers(t)
	for _, id := range []int64{long, short} {
		if j := show(t, "alice", id); j.State != "running" {
			t.Errorf("after a year that was none job %d is %s: %+v", id, j.State, j.Result)
		}
	}
	set("-1 day")
	until(t, "health tells", func() bool {
		text, _ := health(t)
		return strings.Contains(text, "back by 1d")
	})
	sh(t, "", "systemctl restart gpusched")
	answers(t)
	ended(t, wait(t, short), "timed-out", "time limit")
	if ran := time.Since(began); ran < 110*time.Second || ran > 4*time.Minute {
		t.Errorf("its two minutes took %v", ran)
	}
	if j := show(t, "alice", long); j.State != "running" {
		t.Errorf("the other job is %s: %+v", j.State, j.Result)
	}
}
