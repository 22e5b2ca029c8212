package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// The clock notices when it is set, forward or back. The passage of time does not count, and
// neither do steps below a second. Health reports only steps of a minute or more, for an hour.
func TestClockNoticesJumps(t *testing.T) {
	var c clock
	wall, steady := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Duration(0)
	for _, step := range []struct {
		pass, set time.Duration
		noticed   bool
		says      string
	}{
		{0, 0, false, "no step"},
		{time.Hour, 0, false, "no step"},
		{time.Second, 900 * time.Millisecond, false, "no step"},
		{time.Second, 30 * time.Second, true, "no step"},
		{time.Second, -time.Second, true, "no step"},
		{time.Second, 24 * time.Hour, true, "forward by 1d"},
		{time.Minute, 0, false, "forward by 1d"},
		{time.Second, -30 * time.Second, true, "forward by 1d"},
		{time.Second, -3 * time.Hour, true, "back by 3h"},
		{2 * time.Hour, 0, false, "no step"},
	} {
		steady += step.pass
		wall = wall.Add(step.pass + step.set)
		if by := c.advance(wall, steady); (by != 0) != step.noticed || step.noticed && by != step.set {
			t.Errorf("after %v, set by %v: noticed %v", step.pass, step.set, by)
		}
		got := c.check(wall)
		if !strings.Contains(got.Detail, step.says) || (got.Health == job.Healthy) != (step.says == "no step") {
			t.Errorf("after %v, set by %v: %+v", step.pass, step.set, got)
		}
	}
}
