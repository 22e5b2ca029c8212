package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// recoverAll adds the jobs that are known only from their units. It handles running jobs first: the
// unit of an ended job may still exist, and may name GPUs that other jobs now hold.
func (c *Core) recoverAll(e *Listed, now time.Time) {
	units := map[job.ID]Unit{}
	for _, u := range e.Units {
		units[u.Job] = u
	}
	for i := range e.Recovered {
		c.endOutdated(&e.Recovered[i], now)
	}
	unrecorded := func(found job.Job) bool { // says whether the attempt that a unit reports is not on record
		l := c.jobs.Get(found.ID)
		return l == nil || l.Attempt == nil || l.Attempt.Number < found.Attempt.Number || isOutdated(l, &found)
	}
	if !c.systemd.listed() && slices.ContainsFunc(e.Recovered, unrecorded) {
		c.unplace(units, now)
		catchUp(c, e, units, now)
	}
	for _, ended := range []bool{false, true} {
		for _, j := range e.Recovered {
			if (units[j.ID].Phase == Exited) == ended {
				c.recover(j, units, now)
			}
		}
	}
}

// unplace requeues the placed jobs that have no unit. The records are an older copy, so other jobs
// may hold the GPUs, CPUs and memory of these jobs now.
func (c *Core) unplace(units map[job.ID]Unit, now time.Time) {
	for l := range c.jobs.Live() {
		if l.State == job.Starting && l.Action == tracked.NoAction && units[l.ID].Phase == Absent {
			c.abandonAttempt(l, job.Result{Outcome: job.Lost, Cause: job.StopTaken, Detail: job.Say("detail/removed")}, now)
		}
	}
}

// isOutdated reports whether a job's record is an older copy, from before the present suspension or
// parking of the attempt that runs, or before the end of one.
func isOutdated(l *tracked.Job, found *job.Job) bool {
	a, b := l.Attempt, found.Attempt
	same := a.Number == b.Number && (a.InvocationID == "" || a.InvocationID == b.InvocationID)
	return (l.State == job.Running || l.State == job.Starting) && same && found.IsAfter(l.Job)
}

// catchUp brings the records of running jobs up to date that are older copies. The jobs first leave all
// GPUs that they have by the records, because they may have moved to each other's.
func catchUp(c *Core, e *Listed, units map[job.ID]Unit, now time.Time) {
	var outdated []*job.Job
	for i := range e.Recovered {
		found := &e.Recovered[i]
		if l := c.jobs.Active(found.ID); l != nil && isOutdated(l, found) {
			outdated = append(outdated, found)
			c.accounts.ChangeHolding(l, func() { c.editAttempt(l, func(a *job.Attempt) { a.GPUs = nil }) }, now)
		}
	}
	for _, found := range outdated {
		l := c.jobs.Active(found.ID)
		refs := c.withoutTaken(found, units, now).GPUs
		changeParking(&c.lifecycle, l, func() {
			c.editAttempt(l, func(a *job.Attempt) { a.GPUs = refs })
			l.Suspension, l.Parking, l.MovedMemory = found.Suspension, found.Parking, found.MovedMemory
			l.Request.TimeLimit, l.Request.MemBytes = found.Request.TimeLimit, found.Request.MemBytes
			l.Owed = l.Owed && l.ParkWants
		}, now)
	}
}

// recover adds a running job that is known only from its unit. The job holds its GPUs and can end
// like any other job. It can't start again, because its command is unknown.
func (c *Core) recover(j job.Job, units map[job.ID]Unit, now time.Time) {
	if l := c.jobs.Get(j.ID); l != nil {
		c.reclaim(l, &j, units, now)
		return
	}
	j.Recovered, j.Began = true, true
	j.Attempt = c.withoutTaken(&j, units, now)
	j.Charge = c.accounts.LargestShare(&j)
	c.rejoin(&j, now)
	c.accounts.Enroll(j.Owner, j.Principal, now)
	l := c.adopt(&j)
	c.jobs.Claim(j.ID)
	c.jobs.Sort(l)
	if j.Task == nil {
		c.step.storePayload(j.ID, &job.Payload{Program: contract.Program{EnvMode: contract.EnvClean, Dir: "/"}})
	}
	c.commandBegan(l, now)
	c.chargePlaced(l, now)
	c.queue.Consider(l, now) // it may be parked
	c.step.markDirty(l)
}

// rejoin counts a recovered task among the tasks of its array. The record of the array is an older
// copy, in which the task has not become a job yet. If the array is missing or counts the task
// already, the task becomes a job without an array.
func (c *Core) rejoin(j *job.Job, now time.Time) {
	t := j.Task
	j.Task = nil
	if t == nil {
		return
	}
	l := c.jobs.Get(t.Array)
	if l == nil || l.Owner.UID != j.Owner.UID || !l.MayStart(t.Index) {
		return
	}
	array := l.Job
	counts := array.Tasks.Ahead(array.Request.Array.Position(t.Index))
	array.Tasks = &counts
	j.Task, j.Principal, j.Request.Array = t, array.Principal, array.Request.Array
	c.step.markDirtyQuietly(l)
	if counts.Next == array.Request.Array.Size() {
		c.move(l, job.Spawned, now)
	} else {
		c.queue.Consider(l, now)
		c.updateFollowers(l, now)
	}
}

// endOutdated ends the recorded attempt of a job whose unit belongs to a later attempt, because an
// older copy of the state file was put back. The job then waits until reclaim handles it.
func (c *Core) endOutdated(found *job.Job, now time.Time) {
	l := c.jobs.Active(found.ID)
	if l == nil || l.Action != tracked.NoAction || l.Attempt.Number >= found.Attempt.Number ||
		l.Owner.UID != found.Owner.UID || l.Stop == job.StopCancel {
		return
	}
	l.StopOrder = job.StopOrder{}
	l.Unasked = true // the GPUs of the recorded attempt were checked before the later attempt began
	taken := job.Result{Outcome: job.Lost, Cause: job.StopTaken, Detail: job.Say("detail/removed")}
	c.editAttempt(l, func(a *job.Attempt) { a.Result = &taken })
	if l.State != job.Ending {
		c.move(l, job.Ending, now)
	}
	c.closeAttempt(l, now)
	c.recordLast(l, now)
	l.GPUError, l.Left = nil, ""
}

// reclaim handles a job that is waiting by the records, but whose unit belongs to a later attempt
// than any on record: an older copy of the state file was put back. The job continues to run on the
// GPUs that its unit reports.
func (c *Core) reclaim(l *tracked.Job, found *job.Job, units map[job.ID]Unit, now time.Time) {
	j := l.Job
	known := j.Attempt != nil && j.Attempt.Number >= found.Attempt.Number
	if known || j.State != job.Queued || j.Tasks != nil || j.Owner.UID != found.Owner.UID {
		return
	}
	j.Attempt, l.Unasked = c.withoutTaken(found, units, now), false
	j.Attempt.InvocationID = "" // the unit may be about to start, vanish, and be made again
	j.Held, j.HeldOver, j.Heir = "", false, nil
	j.Request.GPUMilli, j.Request.TimeLimit = found.Request.GPUMilli, found.Request.TimeLimit
	j.Suspension, j.MovedMemory, j.Request.MemBytes = found.Suspension, found.MovedMemory, found.Request.MemBytes
	j.Parking = found.Parking
	j.Shared = 0
	j.Charge = c.accounts.LargestShare(j)
	c.move(l, job.Starting, now)
	c.chargePlaced(l, now)
}

// withoutTaken returns the attempt that a unit reports, without the GPUs that other jobs hold. It
// also removes these GPUs from the job's request. A job that was moving to one of them moves no more.
func (c *Core) withoutTaken(j *job.Job, units map[job.ID]Unit, now time.Time) *job.Attempt {
	a := *j.Attempt
	if j.Park == job.IsParked {
		return &a
	}
	if phase := units[j.ID].Phase; !c.systemd.listed() && (phase == Active || phase == Activating) {
		for i := range a.GPUs {
			c.endGone(&a.GPUs[i], units, now)
		}
	}
	a.GPUs = slices.DeleteFunc(slices.Clone(a.GPUs), func(r job.Allocation) bool {
		taken := c.jobs.ShareHeld(r.UUID)+r.Share() > job.WholeGPU
		if taken {
			j.Request.GPUMilli -= r.Share()
			j.ParkedOn = nil
		}
		return taken
	})
	return &a
}

// endGone frees a GPU that a running unit needs. By the records, other jobs hold that GPU. endGone
// ends those of them whose commands no longer run: the records are an older copy, and the unit got
// its part of the GPU after these jobs had ended.
func (c *Core) endGone(part *job.Allocation, units map[job.ID]Unit, now time.Time) {
	if c.jobs.ShareHeld(part.UUID)+part.Share() <= job.WholeGPU {
		return
	}
	for l := range c.jobs.Live() {
		u := units[l.ID]
		if !c.jobs.Holds(l.ID, part.UUID) || u.Phase != Absent && u.Phase != Exited {
			continue
		}
		a := l.Attempt
		switch ours := a.InvocationID == "" || a.InvocationID == u.Invocation; {
		case a.Result != nil:
		case u.Phase == Exited && ours:
			observeUnit(l, &u, now)
			c.recordExit(l, u, now)
		default:
			c.editAttempt(l, func(a *job.Attempt) { a.Result = vanishedResult(l) })
		}
		if l.State != job.Ending {
			c.move(l, job.Ending, now)
		}
		c.closeAttempt(l, now)
	}
}

// Unknown returns the jobs whose units are not on record. Before the first listing these are all: the
// records may be older than the units.
func (c *state) Unknown(units []job.ID) []job.ID {
	return slices.DeleteFunc(units, func(id job.ID) bool { return c.systemd.listed() && c.jobs.Active(id) != nil })
}
