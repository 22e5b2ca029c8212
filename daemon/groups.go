package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/accounts"
	"github.com/gpusched/gpusched/daemon/job"
)

// groupsLast is a period after a job's submission. In this period the job's groups are not looked
// up again.
const groupsLast = time.Second

// followGroups looks up the groups of all accounts with jobs: once at the start, and after each
// reload, because a reload may give a group a quota. The first pass uses only what is known without
// asking a directory service, so that a service that hangs does not delay every quota.
func (dir *directory) followGroups(ctx context.Context) {
	for dir.opt.Groups != nil && ctx.Err() == nil {
		dir.lookUpGroups(ctx, false)
		dir.lookUpGroups(ctx, true)
		dir.regroup.Wait(time.Time{}, ctx.Done())
	}
}

// lookUpGroups finds the accounts that belong to a group with a quota but do not count toward that
// quota yet. It reports these accounts to the core.
func (dir *directory) lookUpGroups(ctx context.Context, wait bool) {
	var all, found []accounts.Member
	if dir.inbox.ask(ctx, func(c *core.Core, _ time.Time) { all = c.Members() }) != nil {
		return
	}
	for _, m := range all {
		if ctx.Err() != nil {
			return
		}
		if m.Groups = subtract(dir.opt.Groups(m.UID, m.GIDs, wait), m.Groups); len(m.Groups) > 0 {
			found = append(found, m)
		}
	}
	if len(found) > 0 {
		dir.inbox.post(core.Enrolled{Members: found})
	}
}

// joinedQuota reports whether a job must be placed again because its person belongs to a group
// whose quota did not apply when the job was placed. joinedQuota first reports the groups to the
// core. It stores the reason in the argument failed.
func (dir *directory) joinedQuota(j *job.Job, failed *core.StartFailed) bool {
	age := dir.host.Now().Sub(j.SubmittedAt)
	if dir.opt.Groups == nil || age >= 0 && age < groupsLast {
		return false
	}
	person := j.Person()
	in := subtract(dir.opt.Groups(person.UID, j.GIDs, false), j.Owner.Groups)
	if len(in) == 0 {
		return false
	}
	dir.inbox.post(core.Enrolled{Members: []accounts.Member{{UID: person.UID, Groups: in}}})
	failed.How = core.StartJoined
	failed.Detail = fmt.Sprintf("when it was placed it was not known that %s is in group %s, whose quota it counts for now",
		person.User, strings.Join(in, ", "))
	dir.log.Info("queueing a job again: groups of its account are known by now", "job", j.ID, "uid", person.UID, "groups", strings.Join(in, ","))
	return true
}

// subtract returns the names that are not in the second list.
func subtract(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(others, n) })
}
