package core

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// accountBook has the accounts of users and groups.
type accountBook struct {
	quotas job.Quotas
	mem    int64 // of the host, that jobs may have
	cpus   int
	users  map[int]*sched.Account
	groups map[string]*sched.Account
	past   map[string]job.Usage // of accounts not asked for yet
	gids   map[int]job.GIDs     // of users, as of the last job of each
}

func newAccountBook(p *Policy, past []job.Usage) accountBook {
	l := accountBook{
		quotas: p.Quotas, mem: p.HostMemBytes, cpus: p.HostCPUs,
		users: map[int]*sched.Account{}, groups: map[string]*sched.Account{},
		past: map[string]job.Usage{}, gids: map[int]job.GIDs{},
	}
	for _, u := range past {
		l.past[u.Account] = u
	}
	return l
}

// accountKey names an account in the state file.
func accountKey(a *sched.Account) string {
	if a.UID < 0 {
		return "g" + a.Name
	}
	return "u" + strconv.Itoa(a.UID)
}

// of returns the account that an owner's jobs count for: the principal's, if
// there is one.
func (l *accountBook) of(o job.Owner, principal *job.Account) *sched.Account {
	if principal != nil {
		o.UID, o.User = principal.UID, principal.User
	}
	a := l.users[o.UID]
	if a == nil {
		a = l.restored(&sched.Account{UID: o.UID, Name: o.User})
		l.users[o.UID] = a
	} else if job.Nameless(a.UID, a.Name) && !job.Nameless(o.UID, o.User) {
		l.rename(a, o.User)
	}
	return a
}

// rename gives an account the name whose quota it has from now on.
func (l *accountBook) rename(a *sched.Account, name string) {
	a.Name = name
	l.apply(a)
}

// user returns a user's account; nil: it was not asked for yet.
func (l *accountBook) user(uid int) *sched.Account { return l.users[uid] }

// join notes which groups a user is in. Equal lists share their memory.
func (l *accountBook) join(uid int, gids job.GIDs) job.GIDs {
	if gids != nil && !slices.Equal(l.gids[uid], gids) {
		l.gids[uid] = gids
	}
	if gids == nil {
		return nil
	}
	return l.gids[uid]
}

// members returns the users who are in the group, ascending.
func (l *accountBook) members(gid int) []int {
	var uids []int
	for uid, gids := range l.gids {
		if slices.Contains(gids, gid) {
			uids = append(uids, uid)
		}
	}
	slices.Sort(uids)
	return uids
}

func (l *accountBook) group(name string) *sched.Account {
	g := l.groups[name]
	if g == nil {
		g = l.restored(&sched.Account{UID: -1, Name: name})
		l.groups[name] = g
	}
	return g
}

// restored gives a new account its bounds and what is on record of its use.
func (l *accountBook) restored(a *sched.Account) *sched.Account {
	key := accountKey(a)
	if u, ok := l.past[key]; ok {
		a.Restore(time.Duration(u.Micro)*time.Microsecond, sched.At(u.At))
		a.RestoreUsed(time.Duration(u.Counts.Charge) * time.Microsecond)
		a.RestoreCapped(u.Counts.Capped, u.Counts.Sizes, sched.At(u.At))
		delete(l.past, key)
	}
	l.apply(a)
	return a
}

// open lets the accounts count from now on.
func (l *accountBook) open(now time.Time, half time.Duration) {
	for _, a := range l.all() {
		a.Open(sched.At(now), half)
	}
	for key, u := range l.past {
		if u.At.After(now) {
			u.At = now
			l.past[key] = u
		}
	}
}

// shift moves the time of all accounts with a clock that was set.
func (l *accountBook) shift(by time.Duration) {
	for _, a := range l.all() {
		a.Shift(by)
	}
	for key, u := range l.past {
		u.At = u.At.Add(by)
		l.past[key] = u
	}
}

// all returns the accounts in no order.
func (l *accountBook) all() []*sched.Account {
	return slices.AppendSeq(slices.Collect(maps.Values(l.users)), maps.Values(l.groups))
}

// quota is what bounds an account.
func (l *accountBook) quota(a *sched.Account) job.Quota {
	if a.UID < 0 {
		return l.quotas.Groups[a.Name]
	}
	if q, ok := l.quotas.Users[a.Name]; ok {
		return q
	}
	return l.quotas.Default
}

// apply gives an account its bounds.
func (l *accountBook) apply(a *sched.Account) {
	q := l.quota(a)
	a.MaxMilli, a.MaxJobs, a.Share = q.GPUMilli, q.Running, q.Share
	a.MaxMem, a.MaxCPUs = q.Mem.Of(l.mem), int(q.CPUs.Of(int64(l.cpus)))
	a.MaxUsage = time.Duration(q.GPUHours) * time.Hour
}

// configure applies new quotas.
func (l *accountBook) configure(p *Policy) {
	l.quotas, l.mem, l.cpus = p.Quotas, p.HostMemBytes, p.HostCPUs
	for _, a := range l.all() {
		l.apply(a)
	}
}

// rateOf is what the current attempt counts for. One on record without a charge is
// charged for its GPUs.
func rateOf(j *job.Job) sched.Rate {
	gpu := gpuRate(j.Attempt.GPUs)
	return sched.Rate{GPU: gpu, Charge: max(gpu, j.Charge, j.Shared)}
}

// gpuRate is what counts of GPUs that a job holds.
func gpuRate(gpus []job.Allocation) (milli int) {
	for _, g := range gpus {
		milli += max(g.ChargeMilli, g.Share())
	}
	return milli
}

// largestShare is the largest of the parts of the machine that a job asks to have, its
// GPUs, CPUs and host memory, in thousandths of a GPU (dominant resource: Ghodsi et
// al., NSDI 2011): who holds all of the memory keeps all GPUs from others. A machine
// without GPUs counts as one, and so does one of which they are not known yet: see
// chargeMachine.
func (c *Core) largestShare(j *job.Job) int {
	p, all := &c.policy, max(1, c.gpus.count())*job.WholeGPU
	mem, cpus := partOf(all, j.Request.MemBytes, p.HostMemBytes), partOf(all, int64(j.CPUs()), int64(p.HostCPUs))
	return max(gpuRate(j.Attempt.GPUs), mem, cpus)
}

// partOf is as much of all as n is of most, rounded up; all for more than that.
func partOf(all int, n, most int64) int {
	if most <= 0 || n <= 0 {
		return 0
	}
	return int(math.Ceil(float64(all) * min(1, float64(n)/float64(most))))
}

// accounts are all that a job counts for.
func (l *trackedJob) accounts() []*sched.Account {
	return append([]*sched.Account{l.account}, l.account.Groups...)
}

// enroll counts an owner's account for the groups that it is in. An account goes by the name under
// which it submitted last.
func (c *Core) enroll(o job.Owner, principal *job.Account, now time.Time) {
	a, name := c.accounts.of(o, principal), o.User
	if principal != nil {
		name = principal.User
	}
	if a.Name != name && !job.Nameless(a.UID, name) {
		c.accounts.rename(a, name)
	}
	c.addGroups(a, o.Groups, now)
}

// count puts a running job on an account. Before the first listing it is not known
// for how long it has run: see startCharging.
func (c *Core) count(l *trackedJob, a *sched.Account, now time.Time) {
	if milli, rate := l.quotaMilli(), rateOf(l.job); c.systemd.listed() {
		a.Start(milli, rate, sched.At(now), c.policy.Sched.HalfLife)
	} else {
		a.CountRunning(milli, rate)
	}
	a.Promise(l.job.Request.MemBytes, l.job.CPUs())
}

// charge counts a job that holds what it asked for since its placement.
func (c *Core) charge(l *trackedJob, now time.Time) {
	for _, acc := range l.accounts() {
		c.count(l, acc, now)
	}
	if c.systemd.listed() {
		c.chargePast(l, now)
	}
	c.countGuarded(l, 1, now)
	if l.throttle != nil {
		l.throttle.Left--
	}
}

// startCharging begins to count use: what jobs on record have used since then is charged
// by how long their units have run.
func (c *Core) startCharging(now time.Time) {
	c.starvation.start(now)
	c.accounts.open(now, c.policy.Sched.HalfLife)
	for _, id := range c.jobs.activeIDs() {
		c.chargePast(c.jobs.active(id), now)
	}
}

// chargePast charges a job for the time since its placement, up to its end if it has ended.
func (c *Core) chargePast(l *trackedJob, now time.Time) {
	for _, acc := range l.accounts() {
		c.chargeSincePlacement(acc, l, now)
	}
}

func (c *Core) chargeSincePlacement(acc *sched.Account, l *trackedJob, now time.Time) {
	until := c.ranUntil(l, now)
	acc.Charge(rateOf(l.job), until.Sub(l.job.Attempt.PlacedAt), now.Sub(until), sched.At(now), c.policy.Sched.HalfLife)
}

// startChargingEarly charges all jobs of an account up to now, where one of them ends before
// open: what is recorded of an account is of those that run, too.
func (c *Core) startChargingEarly(acc *sched.Account, now time.Time) {
	acc.Open(sched.At(now), c.policy.Sched.HalfLife)
	for _, id := range c.jobs.activeIDs() {
		if l := c.jobs.active(id); slices.Contains(l.accounts(), acc) {
			c.chargeSincePlacement(acc, l, now)
		}
	}
	acc.Counted(sched.At(now))
}

// settle undoes charge at the end of an attempt and records the use.
func (c *Core) settle(l *trackedJob, now time.Time) {
	c.countGuarded(l, -1, now)
	half := c.policy.Sched.HalfLife
	for _, acc := range l.accounts() {
		if !c.systemd.listed() {
			c.startChargingEarly(acc, now)
		}
		acc.Finish(l.quotaMilli(), rateOf(l.job), sched.At(now), half)
		acc.Promise(-l.job.Request.MemBytes, -l.job.CPUs())
		if rateOf(l.job).Charge > 0 {
			c.recordUsage(acc, now)
		}
	}
	l.beyond = 0
	if l.throttle == nil {
		return
	}
	if l.throttle.Left++; l.throttle.Left == 1 {
		if array := c.jobs.get(l.job.Task.Array); array != nil && array.job.State == job.Queued {
			c.turn(array, now)
		}
	}
}

// recordUsage puts on record what is counted of an account up to now.
func (c *Core) recordUsage(a *sched.Account, now time.Time) {
	at, half := sched.At(now), c.policy.Sched.HalfLife
	u := &job.Usage{Account: accountKey(a), Micro: a.GPUTime(at, half).Microseconds(), At: now}
	u.Counts.Charge = a.Used(at, half).Microseconds()
	u.Counts.Capped, u.Counts.Sizes = a.CappedTimes(at)
	c.step.record(job.Record{Usage: u})
}
