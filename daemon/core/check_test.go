package core

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// What Check finds has the number of the invariant that does not hold.
func TestCheckNamesTheInvariant(t *testing.T) {
	for number, damage := range map[string]func(c *Core, l *trackedJob){
		"1": func(c *Core, l *trackedJob) { c.planning.Remove(l.job.ID) },
		"2": func(c *Core, l *trackedJob) {
			l.job.State, l.job.Attempt, c.jobs.placed[l.job.ID] = job.Running, &job.Attempt{Number: 1}, l
		},
		"3":  func(_ *Core, l *trackedJob) { l.action = inspecting },
		"4":  func(_ *Core, l *trackedJob) { l.job.Attempt = &job.Attempt{Number: 1} },
		"11": func(c *Core, _ *trackedJob) { c.jobs.queued++ },
	} {
		c := started(Policy{}, job.Restored{})
		c.Step(Submit{Submission: job.Submission{Owner: job.Owner{UID: 1001, User: "alice"}, Request: job.Request{GPUMilli: job.WholeGPU}}}, noon)
		if err := c.Check(); err != nil || len(c.jobs.byID) != 1 {
			t.Fatalf("%d jobs before the damage: %v", len(c.jobs.byID), err)
		}
		for _, l := range c.jobs.byID {
			damage(c, l)
		}
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), "invariant "+number+": ") {
			t.Errorf("a breach of invariant %s is told as %v", number, err)
		}
	}
}
