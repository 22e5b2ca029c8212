package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// A parked job is a suspended job without GPUs. Each step of its way there and back is on record
// before the action for it, which may be done twice. So after a crash, or without an answer, the
// core looks at the record and asks for the action again.

// park parks a running job, or makes a parked one wait for its GPUs.
func park(c *lifecycle, l *tracked.Job, e Command, now time.Time) *job.Refusal {
	j := l.Job
	switch on := e.What.Kind == job.CommandPark; {
	case on:
		p, refusal := c.queue.Parkable(l, now)
		if room := c.queue.ParkRoom(now); refusal == nil && p.ParkBytes > room {
			refusal = job.Refuse("conflict/park-room", j.Called(), job.Size(p.ParkBytes), job.Size(max(0, room)))
		}
		if refusal == nil {
			beginParking(c, l, &p, e.Who.User, !e.Who.Is(j.Owner), now)
		}
		return refusal
	case j.Park == job.NotParked || j.State != job.Running || j.Stop != "":
		return job.Refuse("conflict/not-parked", j.Called())
	case j.Over && !e.Who.Admin:
		return job.Refuse("forbidden/parked", j.Called(), j.SuspendedBy)
	case j.ParkWants || j.Park == job.ParkGives:
		return job.Refuse("conflict/unparks", j.Called())
	}
	wantGPUs(c, l, l.Over || l.ParkedFor != 0 || l.ParkAwake, now)
	return nil
}

// parkQuietly parks a job for another one, or because it is idle, which is the case if it stays
// awake. If the job can't be parked now, parkQuietly returns false.
func parkQuietly(c *lifecycle, l *tracked.Job, waits job.ID, awake bool, now time.Time) bool {
	p, refusal := c.queue.Parkable(l, now)
	if refusal != nil || p.ParkBytes > c.queue.ParkRoom(now) {
		return false
	}
	p.ParkedFor, p.ParkWants, p.ParkAwake = waits, waits != 0, awake
	beginParking(c, l, &p, heldByScheduler, false, now)
	return true
}

// beginParking suspends a job and gives it host memory for the copies. Once its unit has that memory,
// the driver begins to copy.
func beginParking(c *lifecycle, l *tracked.Job, p *job.Parking, by string, over bool, now time.Time) {
	l.Suspended = tracked.Demand{}
	moveMemory(c, l, func() {
		l.Parking = *p
		l.SuspendedAt, l.SuspendedBy, l.Endless = now, by, true
		l.Over, l.Freezes = over, l.Freezes || !p.ParkAwake
	}, now)
}

// isOutgrown reports whether a job that is to be parked uses more GPU memory by now than there is host
// memory for the copies.
func isOutgrown(c *lifecycle, l *tracked.Job, now time.Time) bool {
	_, bytes, known := c.gpus.GPUProcesses(l, now)
	return l.Park == job.ParkTakes && !l.Lifetime().Copying && known && bytes > l.ParkBytes
}

// copyMemory asks the driver for the copies that the record calls for, unless it is at them. While a
// job is being parked, copyMemory is called only when its unit has the host memory for the copies.
func copyMemory(c *lifecycle, l *tracked.Job) {
	t, w := l.Lifetime(), whose(l.Job)
	if l.State != job.Running || l.Park != job.ParkTakes && l.Park != job.ParkGives || t.Copying || !c.systemd.listed() {
		return
	}
	t.Copying = true
	a := Park{
		Job: l.ID, Attempt: l.Attempt.Number, Whose: w, GPUs: l.Attempt.GPUs,
		Processes: l.ParkProcs, Bytes: l.ParkBytes, Freeze: !l.ParkAwake,
	}
	if l.Park == job.ParkTakes {
		c.step.act(a)
	} else {
		a.From = l.ParkedOn
		c.step.act(Unpark(a))
	}
}

// retryCopies begins again what has not been answered for good.
func retryCopies(c *lifecycle, l *tracked.Job) {
	switch {
	case l.State != job.Running || l.Lifetime().Copying:
	case l.Park == job.ParkTakes:
		setMemory(c, l) // its answer leads to copyMemory
	case l.Park == job.ParkGives:
		copyMemory(c, l)
	}
}

// parked handles the answer to Park.
func parked(c *lifecycle, e Parked, now time.Time) {
	l := copied(c, &e, job.ParkTakes, now)
	if l == nil {
		return
	}
	switch e.End {
	case ParkDone:
		c.queue.NoteCopy(l.ParkBytes, e.Took)
		c.gpus.Leave(l, c.requestSample(), now)
		changeParking(c, l, func() { l.Park = job.IsParked }, now)
	case ParkRefused:
		l.Unparkable = job.Say("detail/unparkable", e.Says)
		endParking(c, l, now)
		c.step.notifyOwner(l, job.Say("notice/unparkable", e.Says))
	}
}

// unparked handles the answer to Unpark.
func unparked(c *lifecycle, e Unparked, now time.Time) {
	l := copied(c, (*Parked)(&e), job.ParkGives, now)
	switch {
	case l == nil:
	case e.End == ParkDone:
		c.queue.NoteCopy(l.ParkBytes, e.Took)
		away := now.Sub(l.SuspendedAt).Round(time.Second)
		say := job.Say("notice/unparked", away)
		if old := l.ParkedOn; old != nil {
			say = job.Say("notice/moved", away, job.FormatGPUList(job.Indexes(old)), job.FormatGPUList(l.GPUIndexes()))
		}
		endParking(c, l, now)
		c.step.notifyOwner(l, say)
	case e.End == ParkRefused && l.ParkedOn != nil:
		c.gpus.Leave(l, c.requestSample(), now)
		changeParking(c, l, func() {
			c.editAttempt(l, func(a *job.Attempt) { a.GPUs, l.ParkedOn = l.ParkedOn, nil })
			l.Park, l.Unmovable = job.IsParked, true
			l.ParkWants, l.Owed = true, true
		}, now)
	}
}

// copyPatience limits how long a job is parked or unparked. While its program fails, the job holds its
// GPUs, and its time limit stands still. The job's user can make the program fail.
const copyPatience = 10 * time.Minute

// copied returns the job of an answer about the given copies, or nil if the answer no longer matters.
// If the driver has lost the memory of a process, or its program has failed for too long, copied stops
// the job.
func copied(c *lifecycle, e *Parked, what job.ParkState, now time.Time) *tracked.Job {
	l := c.jobs.Attempt(e.Job, e.Attempt)
	if l == nil {
		return nil
	}
	t := l.Lifetime()
	if t.Copying = false; l.State != job.Running || l.Park != what {
		return nil
	}
	switch {
	case e.End != ParkFailed && e.End != ParkUnsure:
		t.CopyFails = time.Time{}
	case e.End == ParkFailed && t.CopyFails.IsZero():
		t.CopyFails = now
	}
	if e.End == ParkBroken || e.End == ParkFailed && now.Sub(t.CopyFails) >= copyPatience {
		c.requestStop(l, job.StopPark, "", now)
		l.StopWhy = job.Say("detail/park-broken", e.Says)
	}
	return l
}

// wantGPUs makes a parked job wait for its GPUs. With the argument first, it waits in front of the jobs
// of its class and number. A job that its owner parked does not: the owner could keep it as a ticket.
func wantGPUs(c *lifecycle, l *tracked.Job, first bool, now time.Time) {
	changeParking(c, l, func() { l.ParkWants, l.Owed = true, first }, now)
}

// unpark gives a parked job the GPUs on which it was placed. If these are others than it had, the order
// of their indexes decides which one takes over from which: it is CUDA's order, too.
func unpark(c *lifecycle, l *tracked.Job, p *sched.Placement, now time.Time) {
	c.gpus.RecordBaseline(p.Grants)
	refs, own := c.gpus.Refs(p.Grants), c.gpus.Among(l.Attempt.GPUs)
	if !slices.ContainsFunc(p.Grants, func(g sched.Grant) bool { return !own[g.GPU] }) {
		refs = nil
	}
	slices.SortFunc(refs, func(a, b job.Allocation) int { return a.Index - b.Index })
	giveGPUs(c, l, refs, now)
}

// giveGPUs gives a parked job GPUs: nil are those that it had.
func giveGPUs(c *lifecycle, l *tracked.Job, refs []job.Allocation, now time.Time) {
	changeParking(c, l, func() {
		if refs != nil {
			c.editAttempt(l, func(a *job.Attempt) {
				l.ParkedOn, a.GPUs = a.GPUs, slices.Clone(a.GPUs)
				for i := range refs {
					a.GPUs[i] = a.GPUs[i].At(&refs[i])
				}
			})
		}
		l.Park, l.ParkWants, l.Owed = job.ParkGives, false, false
	}, now)
	copyMemory(c, l)
}

// unparkUser gives a parked job its GPUs back because it still uses one, which no other job can use.
func unparkUser(c *lifecycle, f *gpus.UnparkFound, now time.Time) {
	l := c.jobs.Active(f.Job)
	if l == nil || l.State != job.Running || l.Stop != "" || l.Park != job.IsParked || !c.systemd.listed() {
		return // a later sample finds it again
	}
	if !f.Missed || l.ParkedFor != 0 || l.ParkAwake { // its owner may try again, the scheduler does not
		l.Unparkable = job.Say("detail/park-left", f.PID, f.GPU)
	}
	if gpus.AreFree(&c.gpus, l, now) {
		giveGPUs(c, l, nil, now)
	} else if !l.Owed || !l.Unmovable {
		l.Unmovable = true // the process would stay on its GPU
		wantGPUs(c, l, true, now)
	}
}

// returnParked gives parked jobs their GPUs back while no other job may start: they have begun.
func returnParked(c *lifecycle, now time.Time) {
	list := c.queue.PlanReturns(now)
	if len(list) > 0 && !c.gpus.IsFresh(now) {
		c.requestSample()
		return
	}
	for i := range list {
		unpark(c, c.jobs.Get(list[i].Job), &list[i], now)
	}
}

// endParking ends the parking of a job that has its GPUs and their memory.
func endParking(c *lifecycle, l *tracked.Job, now time.Time) {
	moveMemory(c, l, func() { l.EndParking(now) }, now)
}

// changeParking changes what is on record about a parking.
func changeParking(c *lifecycle, l *tracked.Job, change func(), now time.Time) {
	c.accounts.ChangeHolding(l, change, now)
	c.step.markDirty(l)
	c.storeKept(l)
	c.queue.Consider(l, now)
	c.step.replan()
}

// isFrozen reports whether a job's unit should be frozen. The result known is false while a Park or
// an Unpark action may freeze or thaw it.
func isFrozen(j *job.Job) (frozen, known bool) {
	return j.IsSuspended() && !j.ParkAwake, j.Park == job.NotParked || j.Park == job.IsParked
}
