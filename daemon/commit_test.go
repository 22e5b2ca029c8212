package daemon

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// No record waits for other records longer than one write takes.
func TestPatience(t *testing.T) {
	runs := []job.Record{{Job: &job.Job{ID: 1, State: job.Running}}}
	end := []core.Action{core.Sample{Number: 1}, core.Forget{Job: 1}, core.Collect{Job: 1}}
	for name, c := range map[string]struct {
		b    batch
		want time.Duration
	}{
		"a job runs":       {batch{effects: core.Effects{Records: runs}}, restTime},
		"a job has ended":  {batch{effects: core.Effects{Records: runs, Actions: end}}, gatherTime},
		"a job starts":     {batch{effects: core.Effects{Records: runs, Actions: append(end, core.Start{})}}, 0},
		"somebody asked":   {batch{effects: core.Effects{Records: runs, Replies: []core.Reply{{Token: 1}}}}, 0},
		"somebody waits":   {batch{barrier: &latch{}}, 0},
		"a look came back": {batch{looked: true}, 0},
	} {
		if got := c.b.patience(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
