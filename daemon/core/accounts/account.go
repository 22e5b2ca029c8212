package accounts

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Book contains the accounts of users and groups, and charges them for the resources of their jobs.
type Book struct {
	policy *site.Policy
	jobs   *tracked.Book
	gpus   *gpus.Book
	shell  Shell

	users  map[int]*sched.Account
	groups map[string]*sched.Account
	past   map[string]job.Usage // the recorded use of accounts that are not in users or groups yet
	gids   map[int]job.GIDs     // the groups of each user, as of the user's last job
	lane   bucket
	stops  bucket

	charging    bool // StartCharging was called
	stopsFilled bool // the bucket stops was half filled, which it can be once the GPUs are known

	machine  int       // the number of GPUs for which charges were last computed
	sharesAt time.Time // when ChargeSharers last computed the charges
	wanted   []bool    // reused by ChargeSharers
}

// Shell contains the functions of the core that charging needs.
type Shell struct {
	Listed   func() bool                                   // the units have been listed, so run times are known
	RanUntil func(l *tracked.Job, now time.Time) time.Time // returns the time until which an attempt without an end ran
	Record   func(job.Record)                              // stores a record
	Mark     func(l *tracked.Job)                          // makes the step record a job when it ends; that is not logged
}

func NewBook(p *site.Policy, jobs *tracked.Book, gpus *gpus.Book, shell Shell, past []job.Usage) Book {
	b := Book{
		policy: p, jobs: jobs, gpus: gpus, shell: shell,
		users: map[int]*sched.Account{}, groups: map[string]*sched.Account{},
		past: map[string]job.Usage{}, gids: map[int]job.GIDs{},
	}
	for _, u := range past {
		b.past[u.Account] = u
	}
	return b
}

// keyOf returns the name of an account in the state file.
func keyOf(a *sched.Account) string {
	if a.UID < 0 {
		return "g" + a.Name
	}
	return "u" + strconv.Itoa(a.UID)
}

// Of returns the account for which an owner's jobs count: that of the principal, if there is one.
func (b *Book) Of(o job.Owner, principal *job.Account) *sched.Account {
	if principal != nil {
		o.UID, o.User = principal.UID, principal.User
	}
	a := b.users[o.UID]
	if a == nil {
		a = b.setUp(&sched.Account{UID: o.UID, Name: o.User})
		b.users[o.UID] = a
	} else if job.Nameless(a.UID, a.Name) && !job.Nameless(o.UID, o.User) {
		b.Rename(a, o.User)
	}
	return a
}

// Rename gives an account another name. From then on, the account has the quota of that name.
func (b *Book) Rename(a *sched.Account, name string) {
	a.Name = name
	b.apply(a)
}

// User returns a user's account, or nil if the user has had no account since the daemon's start.
func (b *Book) User(uid int) *sched.Account { return b.users[uid] }

// Join notes a user's groups. It returns an equal list, which all jobs with these groups of the
// user share.
func (b *Book) Join(uid int, gids job.GIDs) job.GIDs {
	if gids != nil && !slices.Equal(b.gids[uid], gids) {
		b.gids[uid] = gids
	}
	if gids == nil {
		return nil
	}
	return b.gids[uid]
}

// Members returns the uids of the users in the group, in ascending order.
func (b *Book) Members(gid int) []int {
	var uids []int
	for uid, gids := range b.gids {
		if slices.Contains(gids, gid) {
			uids = append(uids, uid)
		}
	}
	slices.Sort(uids)
	return uids
}

func (b *Book) group(name string) *sched.Account {
	g := b.groups[name]
	if g == nil {
		g = b.setUp(&sched.Account{UID: -1, Name: name})
		b.groups[name] = g
	}
	return g
}

// setUp sets a new account's bounds and its recorded use.
func (b *Book) setUp(a *sched.Account) *sched.Account {
	key := keyOf(a)
	if u, ok := b.past[key]; ok {
		a.Restore(time.Duration(u.Micro)*time.Microsecond, sched.At(u.At))
		a.RestoreUsed(time.Duration(u.Counts.Charge) * time.Microsecond)
		a.RestoreCapped(u.Counts.Capped, u.Counts.Sizes, sched.At(u.At))
		delete(b.past, key)
	}
	b.apply(a)
	return a
}

// startCounting makes all accounts begin to count use.
func (b *Book) startCounting(now time.Time, half time.Duration) {
	for _, a := range b.allAccounts() {
		a.Open(sched.At(now), half)
	}
	for key, u := range b.past {
		if u.At.After(now) {
			u.At = now
			b.past[key] = u
		}
	}
}

// Shift adjusts the recorded times of all accounts after the clock was set.
func (b *Book) Shift(by time.Duration, now time.Time) {
	job.Shift(by, now, &b.lane.at, &b.stops.at)
	for _, a := range b.allAccounts() {
		a.Shift(by)
	}
	for key, u := range b.past {
		u.At = u.At.Add(by)
		b.past[key] = u
	}
}

// allAccounts returns the accounts in no order.
func (b *Book) allAccounts() []*sched.Account {
	return slices.AppendSeq(slices.Collect(maps.Values(b.users)), maps.Values(b.groups))
}

// quota returns the quota of an account.
func (b *Book) quota(a *sched.Account) job.Quota {
	if a.UID < 0 {
		return b.policy.Quotas.Groups[a.Name]
	}
	if q, ok := b.policy.Quotas.Users[a.Name]; ok {
		return q
	}
	return b.policy.Quotas.Default
}

// apply sets an account's bounds from its quota.
func (b *Book) apply(a *sched.Account) {
	q := b.quota(a)
	a.MaxMilli, a.MaxJobs, a.Share = q.GPUMilli, q.Running, q.Share
	a.MaxMem, a.MaxCPUs = q.Mem.Of(b.policy.HostMemBytes), int(q.CPUs.Of(int64(b.policy.HostCPUs)))
	a.MaxUsage = time.Duration(q.GPUHours) * time.Hour
}

// Configured makes new quotas take effect.
func (b *Book) Configured() {
	for _, a := range b.allAccounts() {
		b.apply(a)
	}
}

// Enroll adds an owner's groups to the owner's account. It also gives the account the name with
// which the owner now submits.
func (b *Book) Enroll(o job.Owner, principal *job.Account, now time.Time) {
	a, name := b.Of(o, principal), o.User
	if principal != nil {
		name = principal.User
	}
	if a.Name != name && !job.Nameless(a.UID, name) {
		b.Rename(a, name)
	}
	b.AddGroups(a, o.Groups, now)
}

// Member is an account, with those of its groups that have a quota.
type Member struct {
	UID    int
	GIDs   job.GIDs // the groups of the account's last job, as submitted
	Groups []string
}

// Enrollment returns all accounts that have submitted jobs, sorted by uid. Each account has the
// groups for which its jobs count.
func (b *Book) Enrollment() (list []Member) {
	for _, uid := range slices.Sorted(maps.Keys(b.users)) {
		m := Member{UID: uid, GIDs: b.gids[uid]}
		for _, g := range b.users[uid].Groups {
			m.Groups = append(m.Groups, g.Name)
		}
		list = append(list, m)
	}
	return list
}

// AddGroups makes an account and its running jobs count for further groups. A group is never
// removed, since a user with a user namespace can hide groups from what the kernel reports about a
// process.
func (b *Book) AddGroups(a *sched.Account, names []string, now time.Time) {
	for _, name := range names {
		g := b.group(name)
		if slices.Contains(a.Groups, g) {
			continue
		}
		a.Groups = append(a.Groups, g)
		for l := range b.jobs.Live() {
			if l.Account == a {
				b.count(l, g, now)
			}
		}
	}
}

// QueueQuota refuses a job if its owner, or a group of its owner, has too many waiting jobs
// already.
func (b *Book) QueueQuota(j *job.Job) *job.Refusal {
	a := b.Of(j.Owner, j.Principal)
	waiting := b.jobs.QueuedOf(j.Person().UID)
	if q := b.quota(a).Queued; q > 0 && waiting >= q {
		return job.Refuse("policy/user-queue", waiting)
	}
	for _, g := range a.Groups {
		q, n := b.quota(g).Queued, 0
		for uid, waiting := range b.jobs.QueuedByPerson() {
			if u := b.User(uid); q > 0 && u != nil && slices.Contains(u.Groups, g) {
				n += waiting
			}
		}
		if q > 0 && n >= q {
			return job.Refuse("policy/group-queue", g.Name, n)
		}
	}
	return nil
}

// Check verifies that jobs count for the right accounts, and recounts what each account's jobs
// hold.
func (b *Book) Check(breach tracked.Breach) {
	for id, l := range b.jobs.All() {
		j := l.Job
		if l.Account != b.Of(j.Owner, j.Principal) || l.Weighed != j.Weight() {
			breach(11, "job %d counts for %s with %d bytes, and weighs %d", id, keyOf(l.Account), l.Weighed, j.Weight())
		}
	}
	type runs struct {
		jobs, milli, cpus int
		mem               int64
		rate              sched.Rate
	}
	want, guarded, held := map[*sched.Account]runs{}, 0, 0
	for l := range b.jobs.Live() {
		held += l.HeldMilli()
		if l.Guarded {
			guarded += l.HeldMilli()
		}
		for _, a := range l.Accounts() {
			r, rate := want[a], RateOf(l.Job)
			r.jobs, r.milli = r.jobs+1, r.milli+l.QuotaMilli()
			r.cpus, r.mem = r.cpus+l.CPUs(), r.mem+l.PromisedMem()
			r.rate.GPU, r.rate.Charge = r.rate.GPU+rate.GPU, r.rate.Charge+rate.Charge
			want[a] = r
		}
	}
	for _, a := range b.allAccounts() {
		mem, cpus := a.Promised()
		if is := (runs{a.Jobs, a.Milli, cpus, mem, a.Rate()}); is != want[a] {
			breach(11, "%s counts jobs, milli, CPUs, bytes and rates %v, and runs %v", keyOf(a), is, want[a])
		}
	}
	if guarded != b.lane.milli || held != b.stops.milli {
		breach(11, "the buckets count %d and %d milli, and their jobs hold %d and %d", b.lane.milli, b.stops.milli, guarded, held)
	}
}
