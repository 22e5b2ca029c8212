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

// How long a start waits for the directory: first with its place among the starts, then without.
const (
	nameSoon = 100 * time.Millisecond
	nameTime = 2 * time.Second
)

// directory answers questions about the accounts of jobs as they are today: their names, their
// groups, and whether they may run anything.
type directory struct {
	opt   *Options
	host  Runtime
	log   *slog.Logger
	inbox *inbox

	regroup Wakeup // rings when groups are to be looked up again
}

// hasNewOwner reports whether a job must not start because its uid may belong to another account now,
// and fills in why. If the directory does not answer at once, the start counts as slow.
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

// newOwner returns the account that now has the uid of the job's owner or person, if its name differs
// from the one on record; otherwise the zero account. With an error it returns the account that
// could not be looked up. It ignores a uid that nobody has, since systemd starts nothing as such a
// uid.
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
		if err != nil && !job.Nameless(a.UID, a.User) { // a nameless account is known by its number alone
			return a, err
		}
		if err == nil && name != a.User && name != "" {
			return job.Account{UID: a.UID, User: name}, nil
		}
	}
	return heir, nil
}

// FindRenamed refuses a query that releases jobs of an account that was renamed, or whose number
// another account got, if the scheduler did not know that yet. It holds these jobs, as their next
// start would, because whoever releases them decides as whom they run. What the directory does not
// answer in time is left to that start.
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

// isNamed reports whether heir is the job's own account, whose name was unknown at submission.
func isNamed(j *job.Job, heir job.Account) bool {
	return job.Nameless(heir.UID, *j.NameOf(heir.UID)) && !j.IsSubordinate(heir.UID)
}

// isBarred reports whether a job's user may run nothing today, and fills in why.
func (dir *directory) isBarred(j *job.Job, failed *core.StartFailed) bool {
	if failed.Detail = dir.barred(j); failed.Detail == "" {
		return false
	}
	dir.log.Warn("not starting a job", "job", j.ID, "uid", j.Owner.UID, "err", failed.Detail)
	failed.How = core.StartBarred
	return true
}

// barred returns why a job's user, or the person behind a subordinate uid, may run nothing today;
// "" if they may.
func (dir *directory) barred(j *job.Job) string {
	if dir.opt.Barred == nil {
		return ""
	}
	return cmp.Or(dir.opt.Barred(j.Owner.UID), dir.opt.Barred(j.Person().UID))
}

// groupNow returns the group that the job was submitted with, or 0, which stands for the
// account's own group, if the account is not known to be a member any more. A user who has left a
// group gains nothing from it through a waiting job.
func (dir *directory) groupNow(j *job.Job) int {
	if dir.opt.InGroup == nil || dir.opt.InGroup(j.Owner.UID, j.Owner.GID) {
		return j.Owner.GID
	}
	dir.log.Warn("the group of a job's submission has no name, or its user has left it: the job runs with the user's own group",
		"job", j.ID, "uid", j.Owner.UID, "gid", j.Owner.GID)
	return 0
}

// account returns the name of an account, or its uid if the name is unknown.
func (dir *directory) account(uid int) string {
	if dir.opt.Account != nil {
		if name := dir.opt.Account(uid); name != "" {
			return name
		}
	}
	return fmt.Sprint("uid ", uid)
}
