package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// maxWalked bounds how many jobs one step looks at for commands that are dear: it takes a fraction of a second.
const maxWalked = 200_000

// commands does what is asked of several jobs. What is refused of one leaves the others as they are.
// Commands that are dear end with the one in which they become too much for a step.
func (c *Core) commands(e Commands, now time.Time) Reply {
	r := Reply{Token: e.Token, Each: make([]job.Outcome, len(e.List)), of: make([]job.ID, len(e.List))}
	before := c.jobs.HasWalked()
	for i, what := range e.List {
		if what.Dear() && c.jobs.HasWalked()-before > maxWalked {
			r.Each, r.of = r.Each[:i], r.of[:i]
			break
		}
		r.of[i] = what.Job
		if !what.Kind.ForMany() {
			r.Each[i].Refusal = job.Refuse("usage/command", what.Kind)
			continue
		}
		r.Each[i].Refusal = c.command(Command{Who: e.Who, What: what}, now)
		if what.Kind == job.CommandSignal && r.Each[i].Refusal == nil {
			r.Each[i].Reached = c.jobs.Reached(c.jobs.Get(what.Job), e.Who)
		}
	}
	return r
}
