package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/accounts"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Members returns all accounts that have submitted jobs, sorted by uid. Each account has the groups
// for which its jobs count.
func (c *state) Members() []accounts.Member { return c.accounts.Enrollment() }

// enroll adds to each account the groups that it was found to be in, and records these groups with
// all jobs of the account.
func (c *Core) enroll(e Enrolled, now time.Time) {
	found := map[*sched.Account]bool{}
	for _, m := range e.Members {
		if a := c.accounts.User(m.UID); a != nil {
			c.accounts.AddGroups(a, m.Groups, now)
			found[a] = true
		}
	}
	for _, l := range c.jobs.Sorted(func(l *tracked.Job) bool { return found[l.Account] }) {
		if l.RecordGroups() {
			c.step.markDirtyQuietly(l)
		}
	}
	c.step.replan()
}
