package sched

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/predict"
)

// A future parks jobs as the core does: a parked job keeps what it has of the host, and waits in the
// queue for GPUs (Running.Return). Each of the two copies takes half of the job's notice. To
// keep this simple, a parked job is charged for its GPUs, its copy takes no host memory, and a job
// that starts in the future is stopped where it would be parked.

// park takes a job off its GPUs once its copy is made, and queues it.
func (f *future) park(r *Running, x *fate) {
	now := f.machine.Now
	f.countGPUs(r, -1)
	f.endStay(r.ID)
	r.Grants, r.Stopping, r.Still = nil, false, Never
	x.ends, x.parkedAt = Never, now
	ran := r.runTimeAt(now)
	f.queue.push(Waiting{
		ID: r.ID, Account: r.Account, Since: r.Since.Add(ran), Expected: r.Expected, Served: r.Served + ran,
		Count: 1, Returns: true, Program: r.Program, Untried: r.Untried,
	}, x.back, r.Priority)
}

// comeBack gives a parked job its GPUs again.
func (f *future) comeBack(p *Placement) {
	f.queue.Remove(p.Job)
	i := slices.IndexFunc(f.machine.Running, func(r Running) bool { return r.ID == p.Job })
	if i < 0 { // endEndless has ended it
		return
	}
	r, x := &f.machine.Running[i], &f.running[i]
	now, away := f.machine.Now, time.Duration(f.machine.Now-x.parkedAt)+r.Notice/2
	r.Grants, r.Still, r.Returned = slices.Clone(p.Grants), 0, now
	r.SuspendedTime += away
	x.limit = x.limit.Add(away)
	f.countGPUs(r, 1)
	r.End = min(x.limit, now.Add(predict.Remaining(r.Expected, r.Served+r.runTimeAt(now))))
	x.ends = r.End
	f.setEnd(r, x)
	f.beginStay(r.ID, i, false)
}
