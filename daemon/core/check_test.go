package core

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// Each breach that Check finds has the number of its invariant.
func TestCheckNamesTheInvariant(t *testing.T) {
	for number, damage := range map[string]func(c *Core, l *tracked.Job){
		"1": func(c *Core, l *tracked.Job) { c.queue.Remove(l.ID) },
		"2": func(c *Core, l *tracked.Job) {
			l.State, l.Attempt = job.Running, &job.Attempt{Number: 1}
			c.jobs.Sort(l)
		},
		"3":  func(_ *Core, l *tracked.Job) { l.Action = tracked.Inspecting },
		"4":  func(_ *Core, l *tracked.Job) { l.Attempt = &job.Attempt{Number: 1} },
		"11": func(c *Core, l *tracked.Job) { c.jobs.EnterQueue(l) },
	} {
		c := startedCore(site.Policy{}, job.Restored{})
		c.Step(Submit{Submission: job.Submission{Owner: job.Owner{UID: 1001, User: "alice"}, Request: job.Request{GPUMilli: job.WholeGPU}}}, noon)
		if err := c.Check(); err != nil || c.jobs.Count() != 1 {
			t.Fatalf("%d jobs before the damage: %v", c.jobs.Count(), err)
		}
		for _, l := range c.jobs.All() {
			damage(c, l)
		}
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), "invariant "+number+": ") {
			t.Errorf("a breach of invariant %s is reported as %v", number, err)
		}
	}
}
