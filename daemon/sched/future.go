package sched

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// future simulates the coming passes in one of several futures. It works on copies of the machine,
// the first waiting jobs, and their accounts and lanes.
type future struct {
	planner   *Planner
	copies    copyMap
	sampling  sampling
	begun     Instant
	machine   Snapshot // a copy of the machine, at the simulated moment
	queue     *Queue
	passes    int  // number of passes so far
	most      int  // maximum number of passes
	over      bool // further passes would not change the result
	freed     bool // all jobs that would run for ever were ended, so later starts count as unknown
	running   []fate
	arrays    map[*Lane]job.ID
	wanted    map[job.ID]bool              // jobs that have not started yet
	starts    map[job.ID]Instant           // Never: the job starts only after jobs that would run for ever
	estimates map[job.ID]*predict.Estimate // the forecast's estimates
	ofTasks   map[job.ID]*predict.Estimate // estimates of those tasks of arrays that start in this future
	runTimes  map[job.ID]time.Duration
	tasks     job.ID  // the id that was given to a task last; the ids count down from 0
	course    *course // nil: the caller asked only for starts
	until     Instant // when the forecast ends
}

// fate is what a future knows about a running job in addition to the snapshot. A job and its fate
// have the same index in their lists.
type fate struct {
	ends     Instant // when the job really ends; Running.End is what the planner expects
	limit    Instant // when the time limit ends the job
	estimate *predict.Estimate
	shape    *resourceShape // nil: the job does not return to the queue
	throttle *Throttle
	batch    string
	requeues bool           // the job was told to stop and returns to the queue
	back     *resourceShape // what the job waits for once it is parked; nil: it can't be parked
	parkedAt Instant        // of a parked job: the time since then is no part of Running.SuspendedTime
}

// newFuture returns one future of a forecast.
func newFuture(of *Forecast, one sampling, most int, record *course) *future {
	f := &future{
		planner: NewPlanner(), copies: newCopies(), sampling: one, begun: of.s.Now, queue: NewQueue(),
		arrays: map[*Lane]job.ID{}, wanted: map[job.ID]bool{}, starts: map[job.ID]Instant{},
		most: most, estimates: of.estimates, ofTasks: map[job.ID]*predict.Estimate{}, runTimes: map[job.ID]time.Duration{},
		course: record, until: of.until,
	}
	f.planner.maxFailedShapes = of.width
	f.machine = f.copies.snapshot(&of.s)
	for i := range f.machine.Running {
		f.running = append(f.running, f.fateOf(&f.machine.Running[i]))
	}
	for i := range of.waiting {
		f.addWaiting(&of.waiting[i])
	}
	return f
}

// fateOf returns the fate of a job that runs already.
func (f *future) fateOf(r *Running) fate {
	x := fate{throttle: r.Throttle, ends: r.End, limit: Never, estimate: f.estimates[r.ID]}
	if r.Request != nil && r.Preemptible {
		x.shape, x.requeues = newShape(r.Request), r.Stopping && !r.Parks
	}
	if r.Request != nil && r.Request.TimeLimit > 0 {
		x.limit = max(f.begun, r.Start.Add(r.SuspendedTime+r.Request.TimeLimit.Duration()))
	}
	switch {
	case r.Stopping:
	case r.isParked():
		x.ends, x.parkedAt = Never, f.begun
	default:
		f.setEnd(r, &x)
		x.postpone(max(r.Still, f.begun) - f.begun)
	}
	if r.Parks && r.Request != nil {
		w := Waiting{Request: r.Return, Returns: true}
		x.back = shapeOf(w.Request, w.needsOf())
	}
	r.Request, r.Return, r.Throttle = nil, nil, nil
	return x
}

// addWaiting queues a copy of a waiting job.
func (f *future) addWaiting(c *waitingCopy) {
	w := f.copies.waiting(c.Waiting)
	f.queue.push(w, c.shape, c.priority)
	f.wanted[w.ID] = true
	if w.Throttle != nil && w.Count > 1 {
		f.arrays[w.Throttle.Lane] = w.ID
	}
}

// markOwed gives a job precedence, because other jobs are stopped for it. For an array it does
// nothing.
func (f *future) markOwed(id job.ID) {
	e := f.queue.entries[id]
	if e == nil || e.bucket.owed || e.Count > 1 {
		return
	}
	w, b := e.waitingJob(), e.bucket
	w.Owed = true
	f.queue.Remove(id)
	f.queue.push(w, b.shape, b.priority)
}

// place starts a waiting job.
func (f *future) place(x *Placement) {
	e := f.queue.entries[x.Job]
	b := e.bucket
	if f.wanted[e.ID] {
		delete(f.wanted, e.ID)
		if f.starts[e.ID] = f.machine.Now; f.freed {
			f.starts[e.ID] = Never
		}
	}
	if b.shape.slot == noSlot {
		f.comeBack(x)
		return
	}
	waits := b.turn.of(e.waitStart(f.machine.Now))
	r := Running{
		ID: e.ID, Grants: slices.Clone(x.Grants), MemBytes: b.shape.mem, CPUs: x.CPUs, Quota: b.shape.quota,
		Preemptible: b.shape.yields, Priority: b.priority, Program: b.program, Untried: b.untried,
		Account: b.account, Since: waits, Start: f.machine.Now, Expected: e.Expected, Served: e.Served, Guarded: x.Guarded,
		Rate: Rate{GPU: b.shape.milli, Charge: b.shape.milli}, // without the charge for host resources
	}
	if e.Count > 1 {
		f.tasks--
		r.ID, f.ofTasks[f.tasks] = f.tasks, f.estimates[e.ID]
	}
	r.Late = f.machine.Now.Add(e.Late - e.Served)
	f.count(&r, 1)
	e.Throttle.Count(1)
	f.addRunning(&r, fate{shape: b.shape, throttle: e.Throttle, batch: b.batch})
	f.beginStay(e.ID, len(f.machine.Running)-1, false)
	if f.queue.Take(e.ID); f.queue.Has(e.ID) {
		f.nextTask(e)
	}
}

// addRunning adds a running job, with its expected end and its real end.
func (f *future) addRunning(r *Running, x fate) {
	x.limit = Never
	if x.shape.limit > 0 {
		x.limit = f.machine.Now.Add(x.shape.limit)
	}
	r.End = min(f.machine.Now.Add(predict.Remaining(r.Expected, r.Served)), x.limit)
	r.Late = min(r.Late, x.limit)
	if x.estimate = f.estimates[r.ID]; r.ID < 0 {
		x.estimate = f.ofTasks[r.ID]
	}
	x.ends = r.End
	f.setEnd(r, &x)
	f.machine.Running, f.running = append(f.machine.Running, *r), append(f.running, x)
}

// nextTask makes the wait of the next task of an array begin now.
func (f *future) nextTask(e *entry) {
	if f.machine.Policy.FIFO {
		return
	}
	w := e.waitingJob()
	w.Since, w.Capped = f.machine.Now, w.Account.Capped(e.bucket.shape.quota, f.machine.Now)
	f.queue.Remove(e.ID)
	f.queue.push(w, e.bucket.shape, e.bucket.priority)
}

// count adds a job to its GPUs, its accounts and the host. If sign is -1, count removes the job
// from them.
func (f *future) count(r *Running, sign int) {
	half := f.machine.Policy.HalfLife
	for a := range r.Account.quotaAccounts {
		if sign > 0 {
			a.Start(r.Quota, r.Rate, f.machine.Now, half)
			a.Promise(r.MemBytes, r.CPUs)
		} else {
			a.Finish(r.Quota, r.Rate, f.machine.Now, half)
			a.Promise(-r.MemBytes, -r.CPUs)
		}
	}
	f.machine.Host.Running += sign
	f.machine.Host.PromisedMem += int64(sign) * r.MemBytes
	f.machine.Host.PromisedCPUs += sign * r.CPUs
	f.countGPUs(r, sign)
}

// countGPUs is count for a job's GPUs alone.
func (f *future) countGPUs(r *Running, sign int) {
	for _, g := range r.Grants {
		gpu := &f.machine.GPUs[g.GPU]
		if sign > 0 {
			gpu.Held = append(gpu.Held, Hold{Job: r.ID, Milli: g.Milli, PromiseBytes: g.Bytes, Mates: g.Mates})
			continue
		}
		gpu.Held = slices.DeleteFunc(gpu.Held, func(h Hold) bool {
			if h.Job == r.ID {
				gpu.MemFreeBytes += h.SeenBytes
			}
			return h.Job == r.ID
		})
	}
}

// advanceTo advances the simulated time to the given moment, and ends the jobs that end by then.
func (f *future) advanceTo(at Instant) {
	if f.machine.Now = at; at > f.begun {
		for i := range f.machine.GPUs {
			f.machine.GPUs[i].LoadPercent = -1 // unknown
		}
	}
	for i := range f.machine.GPUs {
		if g := &f.machine.GPUs[i]; g.State != OK && g.ReadyAt > 0 && g.ReadyAt <= at {
			g.State = OK
		}
	}
	for i := 0; i < len(f.machine.Running); {
		if f.running[i].ends > at {
			f.extendEnd(&f.machine.Running[i], &f.running[i])
			i++
			continue
		}
		if r, x := &f.machine.Running[i], &f.running[i]; r.Stopping && r.Parks && x.back != nil {
			f.park(r, x)
			continue
		}
		r, x := f.machine.Running[i], f.running[i]
		f.machine.Running, f.running = slices.Delete(f.machine.Running, i, i+1), slices.Delete(f.running, i, i+1)
		f.end(&r, &x)
	}
}

// end takes a job off the machine. If the job was preempted, end requeues it.
func (f *future) end(r *Running, x *fate) {
	f.count(r, -1)
	f.endStay(r.ID)
	x.throttle.End(f.machine.Now)
	if t := x.throttle; t != nil && t.Lane.Running == t.Limit-1 {
		if e := f.queue.entries[f.arrays[t.Lane]]; e != nil {
			f.nextTask(e)
		}
	}
	if !x.requeues {
		return
	}
	served, late := r.Served+r.runTimeAt(f.machine.Now), time.Duration(0)
	if x.estimate != nil {
		late = x.estimate.Late(served)
	}
	f.queue.push(Waiting{
		ID: r.ID, Account: r.Account, Since: r.Since.Add(time.Duration(f.machine.Now - r.Start)),
		Expected: served + predict.Remaining(r.Expected, served), Late: late, Served: served,
		Throttle: x.throttle, Count: 1, Batch: x.batch, Capped: r.Account.Capped(r.Quota, f.machine.Now),
		Program: r.Program, Untried: r.Untried,
	}, x.shape, r.Priority)
}
