package daemon

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// Time limits for a start that waits for the directory service. After nameSoon, the start no longer
// counts toward the limit of concurrent starts. After nameTime, the start fails.
const (
	nameSoon = 100 * time.Millisecond
	nameTime = 2 * time.Second
)

// directory answers questions about the present state of jobs' accounts:
// their names, their groups, and whether they may run anything.
type directory struct {
	opt   *Options
	host  Runtime
	log   *slog.Logger
	inbox *inbox

	regroup Wakeup // rings when the groups must be looked up again
}

// hasNewOwner reports whether a job must not start because its uid may now belong to another
// account. It stores the reason in the argument failed. If the directory service does not answer
// immediately, the start counts as slow.
func (dir *directory) hasNewOwner(j *job.Job, failed *core.StartFailed) bool {
	heir, err := dir.newOwner(j, nameSoon)
	if err != nil {
		dir.inbox.post(core.StartSlow{Job: j.ID, Attempt: j.Attempt.Number, Why: nameUnknown(heir)})
		heir, err = dir.newOwner(j, nameTime)
	}
	switch {
	case err != nil:
		failed.How, failed.Launch = core.StartLater, contract.StepUnit
		failed.Detail = fmt.Sprintf("%s: %v", nameUnknown(heir), err)
		dir.log.Warn("not starting a job, will try again", "job", j.ID, "uid", heir.UID, "err", failed.Detail)
	case heir.User != "" && isNamed(j, heir):
		failed.How, failed.Heir = core.StartNamed, heir
		failed.Detail = fmt.Sprintf("when it was submitted it was not known that uid %d is %s, whose quota it counts for now", heir.UID, heir.User)
		dir.log.Info("queueing a job again: the name of its account is known by now", "job", j.ID, "uid", heir.UID, "user", heir.User)
	case heir.User != "":
		failed.How, failed.Heir = core.StartGone, heir
		dir.log.Warn("holding a job: its account is gone", "job", j.ID, "uid", heir.UID, "user", j.Owner.User, "now", heir.User)
	default:
		return false
	}
	return true
}

func nameUnknown(a job.Account) string {
	return fmt.Sprintf("the account directory does not say whether uid %d is still %s", a.UID, a.User)
}

// newOwner looks up the uids of the job's owner and person. If the present name of one of them is
// not the recorded name, newOwner returns the account with the present name. Otherwise it returns
// the zero account. If a look-up fails, it returns the account of that look-up with the error. A
// uid without an account is ignored: systemd refuses to start anything with such a uid.
func (dir *directory) newOwner(j *job.Job, wait time.Duration) (heir job.Account, err error) {
	if dir.opt.NameToday == nil {
		return heir, nil
	}
	accounts := []job.Account{{UID: j.Owner.UID, User: j.Owner.User}}
	if j.Principal != nil {
		accounts = append(accounts, *j.Principal)
	}
	for _, a := range accounts {
		name, err := dir.opt.NameToday(a.UID, a.User, wait)
		if err != nil && !job.Nameless(a.UID, a.User) { // a nameless account has no name that could change
			return a, err
		}
		if err == nil && name != a.User && name != "" {
			return job.Account{UID: a.UID, User: name}, nil
		}
	}
	return heir, nil
}

// FindRenamed refuses to release jobs whose account was renamed, or whose uid now belongs to
// another account, unless the scheduler already knew that. It holds these jobs, as their next start
// would have done. Whoever then releases them again has decided that they run as the new account.
// If the directory service does not answer in time, the jobs are checked at their start instead.
func (d *Daemon) FindRenamed(ctx context.Context, q job.Query) (err error) {
	if d.opt.NameToday == nil {
		return nil
	}
	var accounts []job.Account
	if err := d.inbox.ask(ctx, func(c *core.Core, now time.Time) { accounts = c.WaitingAccounts(q, now) }); err != nil {
		return err
	}
	end := d.host.Now().Add(nameTime)
	for _, a := range accounts {
		left := end.Sub(d.host.Now())
		if left <= 0 || job.Nameless(a.UID, a.User) {
			continue
		}
		if name, unsaid := d.opt.NameToday(a.UID, a.User, left); unsaid == nil && name != a.User && name != "" {
			d.inbox.post(core.AccountGone{Was: a.User, Heir: job.Account{UID: a.UID, User: name}})
			err = job.Refuse("conflict/renamed", a.User, a.UID, name)
		}
	}
	return err
}

// isNamed reports whether heir is the job's own account, which had no known name at submission.
func isNamed(j *job.Job, heir job.Account) bool {
	return job.Nameless(heir.UID, *j.NameOf(heir.UID)) && !j.IsSubordinate(heir.UID)
}

// isBarred reports whether a job's user may not run anything today. It stores the reason in the
// argument failed.
func (dir *directory) isBarred(j *job.Job, failed *core.StartFailed) bool {
	if failed.Detail = dir.whyBarred(j); failed.Detail == "" {
		return false
	}
	dir.log.Warn("not starting a job", "job", j.ID, "uid", j.Owner.UID, "err", failed.Detail)
	failed.How = core.StartBarred
	return true
}

// whyBarred returns why the job's user, or the person behind a subordinate uid, may not run
// anything today. It returns "" if both may.
func (dir *directory) whyBarred(j *job.Job) string {
	if dir.opt.Barred == nil {
		return ""
	}
	return cmp.Or(dir.opt.Barred(j.Owner.UID), dir.opt.Barred(j.Person().UID))
}

// groupNow returns the gid of the job's submission if the account is still a member of that group.
// If not, it returns 0, and the job runs with the account's own group. A user who has left a group
// must not use the group's rights through a waiting job.
func (dir *directory) groupNow(j *job.Job) int {
	if dir.opt.InGroup == nil || dir.opt.InGroup(j.Owner.UID, j.Owner.GID) {
		return j.Owner.GID
	}
	dir.log.Warn("the group of a job's submission has no name, or its user has left it: the job runs with the user's own group",
		"job", j.ID, "uid", j.Owner.UID, "gid", j.Owner.GID)
	return 0
}

// account returns the name of an account, or "uid N" if the name is unknown.
func (dir *directory) account(uid int) string {
	if dir.opt.Account != nil {
		if name := dir.opt.Account(uid); name != "" {
			return name
		}
	}
	return fmt.Sprint("uid ", uid)
}
