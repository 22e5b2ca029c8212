package core

import (
	"maps"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Member is an account with the groups that have a quota and that it is in.
type Member struct {
	UID    int
	GIDs   job.GIDs // of its last job, as submitted
	Groups []string
}

// Members returns all accounts that have submitted jobs, by uid, with the groups that they count for.
func (c *Core) Members() []Member {
	return c.accounts.enrollment()
}

func (l *accountBook) enrollment() (list []Member) {
	for _, uid := range slices.Sorted(maps.Keys(l.users)) {
		m := Member{UID: uid, GIDs: l.gids[uid]}
		for _, g := range l.users[uid].Groups {
			m.Groups = append(m.Groups, g.Name)
		}
		list = append(list, m)
	}
	return list
}

// enrolled counts accounts for the groups that they turned out to be in, and puts these on record
// with all of their jobs.
func (c *Core) enrolled(e Enrolled, now time.Time) {
	found := map[*sched.Account]bool{}
	for _, m := range e.Members {
		if a := c.accounts.user(m.UID); a != nil {
			c.addGroups(a, m.Groups, now)
			found[a] = true
		}
	}
	for _, l := range c.jobs.sorted(func(l *trackedJob) bool { return found[l.account] }) {
		if l.recordGroups() {
			c.step.markDirtyQuietly(l)
		}
	}
	c.step.replan()
}

// addGroups counts an account, and so what it runs by now, for groups. It never takes a group off:
// whoever has a user namespace can leave groups out of what the kernel says of a process.
func (c *Core) addGroups(a *sched.Account, names []string, now time.Time) {
	for _, name := range names {
		g := c.accounts.group(name)
		if slices.Contains(a.Groups, g) {
			continue
		}
		a.Groups = append(a.Groups, g)
		for _, id := range c.jobs.activeIDs() {
			if l := c.jobs.active(id); l.account == a {
				c.count(l, g, now)
			}
		}
	}
}

// recordGroups has a job's record name the groups that its account counts for, and reports whether
// it did not.
func (l *trackedJob) recordGroups() bool {
	o := &l.job.Owner
	names := slices.Clone(o.Groups) // other jobs share them
	for _, g := range l.account.Groups {
		if !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	if len(names) == len(o.Groups) {
		return false
	}
	slices.Sort(names)
	o.Groups = names
	return true
}
