package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/accounts"
	"github.com/gpusched/gpusched/daemon/core/estimates"
	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/outbox"
	"github.com/gpusched/gpusched/daemon/core/queue"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/starts"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// Core is the state of the scheduler. It must be used by one goroutine.
type Core struct{ lifecycle }

// lifecycle moves jobs from state to state. Its methods change a job's state, ask for the actions
// that the change needs, and record it. The methods of Core handle the events and commands that
// cause such changes.
type lifecycle struct {
	state
	step     stepBuffer
	unproved []job.ID // failed jobs whose GPUs are being tested
}

// state is the scheduler's data: its books. Methods of state report what the books contain and
// allow. Only methods of lifecycle and Core record changes.
type state struct {
	policy    site.Policy
	systemd   systemd
	jobs      tracked.Book
	deps      tracked.Dependencies
	requests  tracked.Requests
	queue     queue.Book
	estimates estimates.Book
	gpus      gpus.Book
	starts    starts.Places
	troubles  starts.Troubles
	accounts  accounts.Book
	messages  outbox.Book
}

// New makes a core from the stored state. The core places no job until a Listed event has said
// which units exist. The argument boot is the id of the running boot.
func New(p site.Policy, boot string, r job.Restored) *Core {
	c := &Core{lifecycle{step: newStepBuffer(), state: state{
		policy: p, systemd: newSystemd(boot, r.Alive), starts: starts.NewPlaces(), jobs: tracked.NewBook(r.NextID),
		deps: tracked.NewDependencies(), requests: tracked.NewRequests(r.Done), messages: outbox.NewBook(r.Owed),
	}}}
	c.estimates = estimates.NewBook(&c.policy, &c.jobs, c.step.record, c.step.markDirtyQuietly, r.Predictions)
	c.gpus = gpus.NewBook(&c.policy, &c.jobs, c.systemd.bootID)
	c.gpus.Reservations = gpus.NewReservations(r.Reservations, r.NextReservation)
	c.troubles = starts.NewTroubles(&c.jobs, c.tryNow)
	shell := accounts.Shell{
		Listed: c.systemd.listed, RanUntil: c.ranUntil, Record: c.step.record, Mark: c.step.markDirtyQuietly,
	}
	c.accounts = accounts.NewBook(&c.policy, &c.jobs, &c.gpus, shell, r.Usage)
	c.queue = queue.NewBook(&c.policy, &c.jobs, &c.gpus, &c.accounts, &c.estimates, queue.Shell{
		MarkDirty: c.step.markDirty, MarkDirtyQuietly: c.step.markDirtyQuietly, Replan: c.step.replan,
		ScheduledEnd: c.systemd.scheduledEnd,
	})
	c.jobs.SetSiteLanes(p.Lanes)
	c.restoreAll(&r)
	for _, g := range r.GPUs {
		c.gpus.Restore(g)
	}
	return c
}

// restoreAll adds the jobs on record. It resolves dependencies after all jobs are known.
func (c *Core) restoreAll(r *job.Restored) {
	var pending []job.ID
	for i := range r.Jobs {
		j := r.Jobs[i] // a copy: one job that waits long must not keep the whole list in memory
		l := c.restore(&j)
		switch {
		case j.State != job.Queued:
			c.queue.Consider(l, time.Time{}) // it may be parked
		case len(j.Pending) > 0:
			pending = append(pending, j.ID)
		default:
			c.queue.Enqueue(l, time.Time{})
		}
	}
	for _, id := range pending {
		l := c.jobs.Get(id)
		l.Pending = c.stillOpen(l.Pending)
		c.deps.Follow(l)
		c.queue.Enqueue(l, time.Time{})
	}
}

// restore adds a job on record.
func (c *Core) restore(j *job.Job) *tracked.Job {
	if j.QueuedAt.IsZero() {
		j.QueuedAt = j.SubmittedAt
	}
	if j.Task != nil {
		if array := c.jobs.Get(j.Task.Array); array != nil {
			j.Request.Array = array.Request.Array // tasks are stored without this field; only a change of the array changes it
		}
	}
	as := j
	if j.Heir != nil { // the account has the name of the present holder of its number
		own := *j
		as = &own
		setName(as, *j.Heir)
	}
	c.accounts.Enroll(as.Owner, as.Principal, time.Time{})
	l := c.adopt(j)
	l.StopSent = j.State == job.Ending
	c.jobs.Claim(j.ID)
	if j.Task == nil { // a task shares its array's request, which is remembered already
		key := j.Key
		if c.jobs.Next()-j.ID > tracked.KeysSize {
			key = "" // the key is old: it would displace newer keys, and the store can find it
		}
		c.requests.Remember(j.Owner.UID, key, j.Request.Dedup, j.ID)
	}
	if j.State.Live() {
		c.gpus.RecordUnkillable(l)
		c.jobs.Sort(l)
		c.chargePlaced(l, time.Time{})
	}
	return l
}

// adopt adds a job to the books.
func (c *lifecycle) adopt(j *job.Job) *tracked.Job {
	l := &tracked.Job{Job: j, Account: c.accounts.Of(j.Owner, j.Principal)}
	l.GIDs = c.accounts.Join(j.Owner.UID, j.GIDs)
	c.jobs.Add(l)
	c.jobs.Lanes.Enter(l)
	return l
}

// Step handles one event and returns its effects. The caller may keep and change the effects.
func (c *Core) Step(ev Event, now time.Time) Effects {
	c.step.begin(ev)
	c.apply(ev, now)
	c.prove(now)
	for c.step.takeReplan() { // a pass may start jobs on which other jobs depend, and thus make another pass necessary
		c.queue.NoteChange()
		returnMemory(&c.lifecycle, now)
		c.schedule(now)
		c.accounts.CountCapped(c.queue.Accounts(), now)
		c.accounts.ChargeMachine(now)
		wanted := func(memory []bool) []bool { return c.queue.Wanted(c.queue.Snapshot(now), memory) }
		c.queue.ReplanBy(c.accounts.ChargeSharers(wanted, now))
	}
	reboot(&c.lifecycle, now)
	if !c.systemd.leaving() { // while systemd stops everything, messages stay on record as owed
		for _, n := range c.messages.Send(now) {
			c.step.act(Deliver{n})
		}
	}
	c.announceGPUs(ev, now)
	return c.finish(now)
}

func (c *Core) apply(ev Event, now time.Time) {
	switch e := ev.(type) {
	case Submit:
		c.step.addReply(c.submit(e, now))
	case Command:
		c.step.addReply(Reply{Token: e.Token, ID: e.What.Job, Refusal: c.command(e, now)})
	case Commands:
		c.step.addReply(c.commands(e, now))
	case Sampled:
		c.applySample((*gpus.Sample)(&e), now)
	case Started:
		c.started(e, now)
	case StartFailed:
		c.startFailed(e, now)
	case AccountGone:
		c.holdGone(e.Was, e.Heir, now)
	case StartSlow:
		if s := c.starts.Find(e.Job); s != nil && s.Of.Attempt.Number == e.Attempt {
			c.freeSlow(s, e.Why, now)
		}
	case Stopped:
		c.stopped(e, now)
	case Inspected:
		c.inspected(e, now)
	case Changed:
		c.unitChanged(e, now)
	case Signalled:
		c.warningSent(e, now)
	case MemorySet:
		memorySet(&c.lifecycle, e, now)
	case Parked:
		parked(&c.lifecycle, e, now)
	case Unparked:
		unparked(&c.lifecycle, e, now)
	case Listed:
		c.reconcile(e, now)
	case Leaving:
		c.noteShutdown(!e.Not, now)
		c.noteAlive(now)
	case Closing:
		c.noteAlive(now)
	case RebootRefused:
		rebootRefused(&c.lifecycle, e.Why, now)
	case Planned:
		c.systemd.setEnd(&e.End)
		c.step.replan()
	case Measured:
		c.keepPeaks(e, now)
	case Faulted:
		c.gpus.Faulted(gpus.ErrorReport(e))
		c.applyFindings(now)
	case Proved:
		c.endTest((*gpus.ProofEnded)(&e), now)
	case Tick:
		c.tick(e, now)
	case Delivered:
		if n, known := c.messages.Tried((*outbox.Report)(&e), now); known {
			c.step.record(job.Record{Notification: &n})
		}
	case StrangerTold:
		c.gpus.StrangersTold(e.UID, now)
	case Configured:
		c.configure(e.Policy)
	case Enrolled:
		c.enroll(e, now)
	}
}

// finish ends the step: it collects the effects, fills in the replies and removes ended jobs.
func (c *Core) finish(now time.Time) Effects {
	out, over := c.step.end()
	if len(out.Records) > 0 {
		c.queue.NoteChange()
	}
	for i := range out.Replies {
		c.answer(&out.Replies[i], now)
	}
	for _, l := range over {
		c.jobs.Remove(l)
	}
	return out
}

// answer fills in the jobs of a reply as they are after the step, except jobs that have ended. Like
// a listing, it says only for the first waiting jobs why they wait.
func (c *Core) answer(r *Reply, now time.Time) {
	explained := 0
	show := func(id job.ID) *job.JobView {
		l := c.jobs.Get(id)
		if l == nil {
			return nil
		}
		v := c.show(l, now)
		if w := c.waiter(l); w != nil && !r.brief && explained < maxExplained {
			if explained++; explained == 1 {
				c.queue.FindPlacements(now)
			}
			v.Reasons = c.explain(w)
		}
		return &v
	}
	if r.Each == nil {
		r.Job = show(r.ID)
	}
	for i := range r.Each {
		if r.Each[i].Refusal == nil {
			r.Each[i].Job = show(r.of[i])
		}
	}
}

// move changes the job's state. A change that the transition table does not allow is a bug; the
// tests find such bugs.
func (c *lifecycle) move(l *tracked.Job, to job.State, now time.Time) {
	if !l.State.Next(to) {
		panic("core: job " + l.ID.String() + " can't go from " + string(l.State) + " to " + string(to))
	}
	if l.State == job.Queued {
		c.queue.Dequeue(l, now)
		c.deps.Unfollow(l)
		l.Pending = nil
	}
	l.State, l.ChangedAt = to, now
	if l.Park == job.IsParked {
		c.queue.Consider(l, now)
	}
	if to == job.Queued {
		c.queue.Enqueue(l, now)
	}
	c.jobs.Sort(l)
	c.step.markDirty(l)
	if to != job.Starting && to != job.Running { // these two states free no resources
		c.step.replan()
	}
	c.updateFollowers(l, now)
	if to.Terminal() {
		c.oweMessages(l, job.NotifyEnd, now)
		c.requests.ForgetDedup(l.Job)
		if l.Task != nil {
			c.taskEnded(l, now)
		}
		if l.Request.Array == nil || l.Task != nil {
			c.jobs.CountEnd(to)
		}
	}
}

// editAttempt changes the current attempt. It makes a changed copy, because records and views may
// share the old attempt.
func (c *lifecycle) editAttempt(l *tracked.Job, change func(*job.Attempt)) {
	l.KeepUse()
	a := *l.Attempt
	change(&a)
	l.Attempt = &a
	c.step.markDirty(l)
}
