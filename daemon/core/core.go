package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// pendingAction is the action that is under way for a job.
type pendingAction int8

const (
	noAction pendingAction = iota
	starting
	stopping
	inspecting
	checking // the GPUs, before a start
	inLine   // for a place to be started in
)

// trackedJob is a job that has not ended. Only what is in job is durable. The order of its fields saves room.
type trackedJob struct {
	id     job.ID
	job    *job.Job
	awaits uint64 // while checking: the number of the sample that it waits for

	action   pendingAction
	recheck  bool // the unit changed while it was being started or inspected
	dirty    bool // in this step
	ends     bool // in this step, in which nothing else was changed of it that counts
	unasked  bool // no daemon has asked for the attempt's unit yet
	stopSent bool // a stop of ours may have reached it already

	suspended demand

	uses   []job.GPUNow // of the GPUs of the attempt with the number tracked
	usesOf int

	lifetime *lifetime // of the attempt; nil: nothing is known
	account  *sched.Account
	throttle *sched.Throttle // of its array; nil: none
	weight   int64           // as counted in bytes
	beyond   int             // what it counts for in quotas of GPUs besides what it asked for, see countBeyond
}

// Core is the state of the scheduler. It must be used by one goroutine.
type Core struct {
	policy       Policy
	systemd      systemd
	jobs         jobBook
	planning     planning
	requests     requests
	deps         dependencies
	reservations reservations
	gpus         gpuBook
	starts       startBook
	starvation   starvationGuard
	accounts     accountBook
	sharers      sharers
	messages     messageBook
	step         stepBuffer
}

// New makes a core from what is on record. It places nothing until it has been
// told by Listed which units exist. Boot is the id of the running boot.
func New(p Policy, boot string, r job.Restored) *Core {
	c := &Core{
		policy: p, systemd: newSystemd(boot, r.Alive), step: newStepBuffer(), starts: newStartBook(),
		jobs: newJobBook(r.NextID), deps: newDependencies(), planning: newPlanning(r.Predictions),
		requests: newRequests(r.Done), reservations: newReservations(r.Reservations, r.NextReservation),
	}
	c.gpus = newGPUBook(&c.policy, &c.jobs, c.systemd.bootID)
	c.accounts = newAccountBook(&p, r.Usage)
	c.restoreAll(&r)
	for _, g := range r.GPUs {
		c.gpus.restore(g)
	}
	c.messages = newMessageBook(r.Owed)
	return c
}

// restoreAll adds the jobs that are on record. Whether one has what it waits for shows when
// all are known.
func (c *Core) restoreAll(r *job.Restored) {
	var pending []job.ID
	for i := range r.Jobs {
		j := r.Jobs[i] // the list need not be kept for one that waits long
		l := c.restore(&j)
		switch {
		case j.State != job.Queued:
		case len(j.Pending) > 0:
			pending = append(pending, j.ID)
		default:
			c.enqueue(l, time.Time{})
		}
	}
	for _, id := range pending {
		l := c.jobs.get(id)
		l.job.Pending = c.stillOpen(l.job.Pending)
		c.deps.follow(l)
		c.enqueue(l, time.Time{})
	}
}

// restore adds a job that is on record.
func (c *Core) restore(j *job.Job) *trackedJob {
	if j.QueuedAt.IsZero() {
		j.QueuedAt = j.SubmittedAt
	}
	if j.Task != nil {
		if array := c.jobs.get(j.Task.Array); array != nil {
			j.Request.Array = array.job.Request.Array // not stored with each task, and changed with the array alone
		}
	}
	as := j
	if j.Heir != nil { // the account goes by the name of who has its number now
		own := *j
		as = &own
		setName(as, *j.Heir)
	}
	c.enroll(as.Owner, as.Principal, time.Time{})
	l := c.adopt(j)
	l.stopSent = j.State == job.Ending
	c.jobs.claim(j.ID)
	if j.Task == nil { // a task has its array's request
		key := j.Key
		if c.jobs.next()-j.ID > keysSize {
			key = "" // those of later ones would take its place, and the store finds it
		}
		c.requests.remember(j.Owner.UID, key, j.Request.Dedup, j.ID)
	}
	if j.State.Live() {
		c.gpus.recordUnkillable(l)
		c.jobs.sort(l)
		c.charge(l, time.Time{})
	}
	return l
}

// adopt makes a job known.
func (c *Core) adopt(j *job.Job) *trackedJob {
	l := &trackedJob{id: j.ID, job: j, account: c.accounts.of(j.Owner, j.Principal)}
	l.job.GIDs = c.accounts.join(j.Owner.UID, j.GIDs)
	c.jobs.add(l)
	array := j.ID
	if j.Task != nil {
		array = j.Task.Array
	}
	if a := j.Request.Array; a != nil && a.Limit > 0 {
		l.throttle = c.jobs.throttle(array, a.Limit)
	}
	return l
}

// Step consumes one event. The effects belong to the caller.
func (c *Core) Step(ev Event, now time.Time) Effects {
	c.step.begin(ev)
	c.apply(ev, now)
	for c.step.takeReplan() { // a pass may be news itself, for who waits for a job's start
		c.planning.changed()
		c.schedule(now)
		c.countCapped(now)
		c.chargeMachine(now)
		c.chargeSharers(now)
	}
	c.deliver(now)
	c.announceGPUs(ev, now)
	return c.finish(now)
}

func (c *Core) apply(ev Event, now time.Time) {
	switch e := ev.(type) {
	case Submit:
		c.step.reply(c.submit(e, now))
	case Command:
		c.step.reply(Reply{Token: e.Token, ID: e.What.Job, Refusal: c.command(e, now)})
	case Commands:
		c.step.reply(c.commands(e, now))
	case Sampled:
		c.sampled(&e, now)
	case Started:
		c.started(e, now)
	case StartFailed:
		c.startFailed(e, now)
	case AccountGone:
		c.holdGone(e.Was, e.Heir, now)
	case StartSlow:
		c.startSlow(e, now)
	case Stopped:
		c.stopped(e, now)
	case Inspected:
		c.inspected(e, now)
	case Changed:
		c.changed(e, now)
	case Signalled:
		c.signalled(e, now)
	case Listed:
		c.list(e, now)
	case Leaving:
		c.leave(!e.Not, now)
		c.noteAlive(now)
	case Closing:
		c.noteAlive(now)
	case Measured:
		c.measured(e)
	case Faulted:
		c.gpus.faulted(e)
		c.applyFindings(now)
	case Tick:
		c.tick(e, now)
	case Delivered:
		c.delivered(e, now)
	case Configured:
		c.configure(e.Policy)
	case Enrolled:
		c.enrolled(e, now)
	}
}

// finish ends the step.
func (c *Core) finish(now time.Time) Effects {
	out, over := c.step.end()
	if len(out.Records) > 0 {
		c.planning.changed()
	}
	for i := range out.Replies {
		c.answer(&out.Replies[i], now)
	}
	for _, l := range over {
		c.jobs.remove(l)
	}
	return out
}

// answer fills in what a reply shows of a job; nothing where it has ended before the step.
func (c *Core) answer(r *Reply, now time.Time) {
	if r.Each != nil {
		c.answerEach(r, now)
		return
	}
	l := c.jobs.get(r.ID)
	if l == nil {
		return
	}
	r.Job = new(c.show(l, now))
	if w := c.waiter(l); w != nil && !r.brief {
		c.placements(now)
		r.Job.Reasons = c.explain(w)
	}
}

// move takes the job to another state of the transition table. A move that the
// table does not allow is a fault of the program, found by the tests.
func (c *Core) move(l *trackedJob, to job.State, now time.Time) {
	if !l.job.State.Next(to) {
		panic("core: job " + l.job.ID.String() + " can't go from " + string(l.job.State) + " to " + string(to))
	}
	if l.job.State == job.Queued {
		c.dequeue(l, now)
		c.deps.unfollow(l)
		l.job.Pending = nil
	}
	l.job.State, l.job.ChangedAt = to, now
	if to == job.Queued {
		c.enqueue(l, now)
	}
	c.jobs.sort(l)
	c.step.markDirty(l)
	if to != job.Starting && to != job.Running { // a start frees nothing
		c.step.replan()
	}
	c.tellFollowers(l, now)
	if to.Terminal() {
		c.jobs.dropThrottle(l.job.ID)
		c.oweMessages(l, job.NotifyEnd, now)
		c.requests.forgetDedup(l.job)
		if l.job.Task != nil {
			c.taskEnded(l, now)
		}
		if l.job.Request.Array == nil || l.job.Task != nil {
			c.jobs.countEnd(to)
		}
	}
}

// edit changes the current attempt. Attempts are never changed in place, since
// records and views share them.
func (c *Core) edit(l *trackedJob, change func(*job.Attempt)) {
	l.keepUse()
	a := *l.job.Attempt
	change(&a)
	l.job.Attempt = &a
	c.step.markDirty(l)
}
