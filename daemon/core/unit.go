package core

import (
	"cmp"
	"time"

	"github.com/gpusched/gpusched/daemon/core/starts"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

func (c *Core) started(e Started, now time.Time) {
	l := c.jobs.Attempt(e.Job, e.Attempt)
	if l == nil || l.Action != tracked.Starting {
		return // an early inspection has shown already that the unit was started
	}
	c.unitMade(l, e.Unit, now)
}

// unitMade notes that the unit of an attempt now exists.
func (c *lifecycle) unitMade(l *tracked.Job, u Unit, now time.Time) {
	l.Action = tracked.NoAction
	c.startFinished(l.ID, now)
	observeUnit(l, &u, now)
	c.applyUnitState(l, u, true, now)
	c.reinspect(l)
}

// reinspect inspects a unit that changed while another action was under way. The answer to that
// action may be older than the change.
func (c *lifecycle) reinspect(l *tracked.Job) {
	if l.Recheck && l.Action == tracked.NoAction && !l.State.Terminal() {
		l.Recheck = false
		c.inspect(l)
	}
}

func (c *Core) startFailed(e StartFailed, now time.Time) {
	l := c.jobs.Attempt(e.Job, e.Attempt)
	if l == nil || l.Action != tracked.Starting {
		return
	}
	l.Action = tracked.NoAction
	start := c.startFinished(l.ID, now)
	r := job.Result{Outcome: job.Lost, Launch: e.Launch, Detail: job.Text(e.Detail), Tries: l.Tries + 1}
	switch e.How {
	case StartUnsure: // the next listing or retry will show whether the unit exists
		return
	case StartExists, StartStale: // the core inspects the unit, and tries again if there is none
		c.inspect(l)
		return
	case StartTaken:
		c.abandonAttempt(l, r, now)
		return
	case StartRefused:
		r.Outcome, r.Tries = job.Failed, 0
	case StartLater:
		if start != nil && start.Slow { // then only other starts of the same person wait, see barSlow
			r.Launch, r.Detail = "", job.Text(cmp.Or(start.Why, e.Detail))
		}
	case StartNamed:
		c.accountNamed(e.Heir)
	case StartGone:
		r.Detail = c.accountGone(l, e.Heir, now)
	case StartBarred:
		c.troubles.Bar(l.Account, e.Detail, now.Add(starts.BarredFor))
	}
	c.endAttempt(l, r, now)
}

// abandonAttempt ends an attempt that has no unit. If another unit has the name that the attempt's
// unit would have, that other unit is left alone.
func (c *lifecycle) abandonAttempt(l *tracked.Job, r job.Result, now time.Time) {
	c.editAttempt(l, func(a *job.Attempt) { a.Result = &r })
	c.move(l, job.Ending, now)
	c.closeAttempt(l, now)
}

// teardown ends an attempt: it stops every process of the unit and collects the unit.
func (c *lifecycle) teardown(l *tracked.Job, now time.Time) {
	if l.State != job.Ending {
		c.move(l, job.Ending, now)
	}
	if l.Action == tracked.InLine {
		c.starts.Leave(l)
	}
	if l.Action == tracked.NoAction || l.Action == tracked.Inspecting || l.Action == tracked.Checking {
		l.Action = tracked.Stopping
		c.step.act(Stop{
			Job: l.ID, Attempt: l.Attempt.Number, Whose: whose(l.Job), Grace: l.Request.GraceTime().Duration(),
			InspectFirst: l.Attempt.Result == nil, Thaw: l.Freezes, Notice: c.stopNotice(l.Job),
		})
	}
}

// stopNotice returns the message that tells a job's owner why the job is stopped. If the owner
// asked for the stop, the message is empty.
func (c *state) stopNotice(j *job.Job) NotifyOwner {
	t := NotifyOwner{Job: j.ID, UID: j.Owner.UID}
	if j.Attempt.Result == nil && (j.Stop == job.StopGPUMem || j.Stop == job.StopIdle || j.Stop == job.StopTrespass) {
		t.Say = []job.Message{job.Say("notice/result", c.result(j))}
	}
	return t
}

func (c *Core) stopped(e Stopped, now time.Time) {
	l := c.jobs.Attempt(e.Job, e.Attempt)
	if l == nil || l.State != job.Ending {
		return
	}
	l.Action = tracked.NoAction
	observeUnit(l, &e.Before, now)
	l.Lifetime().Left = max(l.Lifetime().Left, e.Running)
	if e.OK && e.Before.Phase == Active { // the command ended during this stop
		l.Lifetime().SawProcess(now)
	}
	unknown := l.Attempt.Result == nil
	if unknown && e.Before.Phase == Exited {
		c.recordExit(l, e.Before, now)
	}
	if unknown && e.OK && e.Before.Phase == Absent && !l.StopSent {
		foundGone(l)
	}
	switch {
	case e.OK:
		c.closeAttempt(l, now)
	case unknown && e.Before.Phase == Exited: // first record the end, then remove the unit that reports it
		c.teardown(l, now)
	default:
		l.StopSent = l.StopSent || e.Before.Phase != Absent
		c.recordSurvivors(l, e.Left, now)
	}
}

// unitChanged handles a hint that something happened to a unit. If a start or an inspection is
// under way, it may have read the unit before the change, so the unit is inspected again
// afterwards. If a stop is under way, no further inspection is needed: the stop reads the unit
// last.
func (c *Core) unitChanged(e Changed, now time.Time) {
	l := c.jobs.Active(e.Job)
	switch {
	case l == nil || l.State == job.Ending:
		return
	case !c.systemd.listed():
		l.Recheck = true // the first listing, which is under way, may be older
		return
	}
	l.Recheck = l.Action == tracked.Inspecting || l.Action == tracked.Starting
	c.inspect(l)
	c.inspectEarly(l, now)
}

func (c *lifecycle) inspect(l *tracked.Job) {
	if l.Action == tracked.NoAction {
		l.Action = tracked.Inspecting
		c.step.act(Inspect{Job: l.ID, Attempt: l.Attempt.Number, Whose: whose(l.Job)})
	}
}

func (c *Core) inspected(e Inspected, now time.Time) {
	l := c.jobs.Attempt(e.Job, e.Attempt)
	if l == nil {
		return
	}
	switch {
	case e.Early:
		if l.Action == tracked.Starting && e.OK && (e.Unit.Phase == Active || e.Unit.Phase == Exited) { // the unit exists
			c.unitMade(l, e.Unit, now)
		}
		return
	case l.Action != tracked.Inspecting:
		return // a stop began during the inspection
	}
	l.Action = tracked.NoAction
	if e.OK {
		c.reconcileUnit(l, e.Unit, true, now)
	}
	c.reinspect(l)
}

// reconcile compares all live jobs with the units in a listing.
func (c *Core) reconcile(e Listed, now time.Time) {
	if c.systemd.leaving() {
		return
	}
	first := !c.systemd.listed()
	if first {
		c.queue.ClampBackoffs(now)
		c.jobs.Lanes.Restart(now)
	}
	c.systemd.noteRun(e.Boot, e.Run)
	rebooted(&c.lifecycle, now)
	c.step.replan()
	c.recoverAll(&e, now)
	c.systemd.setListed()
	for _, t := range e.Taken {
		l := c.jobs.Active(t.Job)
		if l == nil || l.State != job.Starting || l.Attempt.InvocationID != "" || l.Action != tracked.NoAction {
			continue
		}
		c.abandonAttempt(l, job.Result{
			Outcome: job.Lost, Detail: job.Text(t.By), Tries: l.Tries + 1,
		}, now)
	}
	units, orphans := map[job.ID]Unit{}, []Unit(nil)
	for _, u := range e.Units {
		units[u.Job] = u
		if c.jobs.Active(u.Job) != nil {
			continue
		}
		c.jobs.Claim(u.Job)
		orphans = append(orphans, u)
	}
	for u, listings := range c.systemd.noteOrphans(orphans) {
		if u.Phase == Exited {
			c.step.act(Collect{Job: u.Job, Listings: listings})
		} else if listings == ReportedAt {
			c.step.act(Orphan{Job: u.Job})
		}
	}
	for l := range c.jobs.Live() {
		if l.Action == tracked.NoAction {
			u := units[l.ID]
			u.Job = l.ID
			c.reconcileUnit(l, u, false, now)
			c.reinspect(l)
		}
		c.inspectEarly(l, now)
	}
	if first {
		c.accounts.StartCharging(now)
	}
	c.noteAlive(now)
}

// reconcileUnit applies what systemd reports about a job's unit while no action of the core is
// under way. Only a fresh answer proves that there is no unit. An answer is fresh if the core asked
// for it after the job's last change.
func (c *lifecycle) reconcileUnit(l *tracked.Job, u Unit, fresh bool, now time.Time) {
	a := l.Attempt
	if u.Phase != Absent && a.InvocationID != "" && u.Invocation != a.InvocationID {
		u = Unit{Job: u.Job, Phase: Absent}
	}
	observeUnit(l, &u, now)
	if u.Phase != Absent {
		c.applyUnitState(l, u, fresh, now)
		return
	}
	switch {
	case l.State == job.Ending:
		c.teardown(l, now)
	case c.systemd.isRebooted(a):
		c.endAttempt(l, job.Result{Outcome: job.Lost, Detail: job.Say("detail/restarted")}, now)
	case !fresh:
		c.inspect(l)
	case l.State == job.Starting && l.Stop != "":
		c.teardown(l, now)
	case l.State == job.Starting:
		c.launch(l, now)
	default:
		c.endAttempt(l, *vanishedResult(l), now)
	}
}

// launch starts the current attempt. If the start relies on a sample of the GPUs, launch first asks
// for the sample.
func (c *lifecycle) launch(l *tracked.Job, now time.Time) {
	if !c.step.hasSample() && c.needsSample(l) {
		l.Action, l.Awaits = tracked.Checking, c.requestSample()
	} else {
		c.startUnit(l, now)
	}
}

// applyUnitState applies the state of a unit that exists. If the state is not fresh, new processes
// may have begun in the unit since.
func (c *lifecycle) applyUnitState(l *tracked.Job, u Unit, fresh bool, now time.Time) {
	if u.Phase == Absent {
		return
	}
	if u.Phase == Activating { // somebody else, or an earlier start, made the unit
		if isToStop(l.Job, now) {
			c.teardown(l, now)
		}
		return
	}
	if l.State == job.Starting {
		// If the launch failed because of the machine, the job is retried. After any other failure,
		// the command counts as begun.
		if failed := (job.Result{Launch: u.Exit.Launch, Errno: u.Exit.Errno}); !failed.OfMachine() {
			c.commandBegan(l, now)
			c.move(l, job.Running, now)
		}
		if c.troubles.Tried(l) {
			c.step.replan()
		}
		c.editAttempt(l, func(a *job.Attempt) {
			a.StartedAt, a.InvocationID = now, u.Invocation
			if u.Age > tracked.StartSlack { // no daemon saw the start; the clock need not have been set
				a.StartedAt = now.Add(-u.Age)
			}
			if a.PlacedAt.After(a.StartedAt) {
				a.PlacedAt = a.StartedAt
			}
		})
	}
	c.correctStart(l, u.Age, now)
	switch {
	case l.State == job.Ending:
		c.teardown(l, now)
	case u.Phase == Exited:
		c.recordExit(l, u, now)
		c.release(l, fresh && u.Spent, now)
	case isToStop(l.Job, now):
		c.teardown(l, now)
	case l.State == job.Running && l.Freezes:
		if frozen, known := isFrozen(l.Job); known && u.Frozen != frozen { // a Freeze action was lost
			c.step.act(Freeze{Job: l.ID, Attempt: l.Attempt.Number, Thaw: !frozen})
		}
	}
	if u.Phase == Active && !fresh {
		compareMemory(c, l, u.MemMax, u.MemHigh, now)
	}
}

// release ends a job whose command has ended. If the unit has no processes left, and no further
// attempt needs a unit of the same name, the job ends at once. The job's GPUs then go to the next
// job while the unit is still being collected.
func (c *lifecycle) release(l *tracked.Job, spent bool, now time.Time) {
	r := c.result(l.Job)
	if !spent || l.Stop != "" || c.nextPlace(l, &r, now) != nowhere || c.mayAwaitProof(l, &r) {
		c.teardown(l, now)
		return
	}
	c.move(l, job.Ending, now)
	c.closeAttempt(l, now)
	c.step.act(Collect{Job: l.ID})
}

// keepPeaks notes the peak use of running jobs, so that it is recorded with their results.
func (c *lifecycle) keepPeaks(e Measured, now time.Time) {
	for _, u := range e.Usage {
		l := c.jobs.Active(u.Job)
		if l == nil {
			continue
		}
		a := *l.Attempt
		a.HostUse = a.Max(u.HostUse)
		l.Attempt = &a
		followMemory(c, l, u.MemUsed, now)
		if l.Wakes(u.CPUTime, now) {
			wantGPUs(c, l, true, now)
		}
	}
}

// Whether a process on a GPU began during its job or later depends on when the job's command ended.
// systemd knows that time. The scheduler learns it later, sometimes much later.

// observeUnit notes what a unit's state shows about the time in which its command ran.
func observeUnit(l *tracked.Job, u *Unit, now time.Time) {
	switch t, read := l.Lifetime(), now.Add(-u.Old); {
	case u.Phase == Active:
		t.SawProcess(read)
	case u.Phase == Exited && u.EndAge != 0:
		t.Ended, t.Spent = read.Add(-u.EndAge), t.Spent || u.Spent
	}
}

// startPatience is how long a start may stay unanswered. After that the answer may be lost, so the
// unit is inspected at each listing and whenever something happens to it.
const startPatience = time.Second

// inspectEarly inspects the unit of a start that has been unanswered for longer than startPatience.
func (c *lifecycle) inspectEarly(l *tracked.Job, now time.Time) {
	if l.Action == tracked.Starting && now.Sub(l.Lifetime().Asked) > startPatience {
		w := whose(l.Job)
		w.Attempt = l.Attempt.Number
		c.step.act(Inspect{Job: l.ID, Attempt: w.Attempt, Whose: w, Early: true})
	}
}

// noteAlive records that the machine is on. If a reboot or a power cut ends jobs, the record shows
// until when they ran. As long as some of these jobs are not handled, noteAlive leaves that record
// as it is.
func (c *lifecycle) noteAlive(now time.Time) {
	for l := range c.jobs.Live() {
		if c.systemd.wasOff(l.Attempt) {
			return
		}
	}
	if c.systemd.listed() && c.jobs.ActiveCount() > 0 {
		c.step.record(job.Record{Alive: now})
	}
}

// ranUntil returns the time until which an attempt without EndedAt ran. Usually that is now. If the
// command left no processes, it is the end of the command. If a reboot ended the attempt, or its
// unit vanished while no daemon ran, it is the time at which the machine was last known to be on.
func (c *state) ranUntil(l *tracked.Job, now time.Time) time.Time {
	at := now
	switch {
	case c.systemd.wasOff(l.Attempt), l.Lifetime().Gone && l.Lifetime().Alive.IsZero():
		at = c.systemd.lastSeen()
	case l.Lifetime().Spent:
		at = l.Lifetime().Ended
	}
	at = job.Later(at, job.Later(l.Attempt.PlacedAt, l.Attempt.StartedAt))
	if at.After(now) {
		return now
	}
	return at
}
