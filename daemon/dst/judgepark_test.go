package dst

import (
	"cmp"
	"slices"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// liveRun returns the run of a job's attempt if its command is alive, or nil. A unit that was
// restarted by hand has other processes than those that were parked.
func (w *World) liveRun(n *job.Job) *run {
	r := w.runs[n.ID.Unit()]
	if r == nil || !r.alive || n.Attempt == nil || r.attempt != n.Attempt.Number || r.first != 0 || w.tracked.lost {
		return nil
	}
	return r
}

// judgePark checks invariant 23 for a decision about a job. The mirror does not have the decision
// yet. The argument listing says whether the step handles a listing of the units. judgePark reports
// whether the decision gives a parked job its GPUs again.
func (w *World) judgePark(n *job.Job, listing bool) (returns bool) {
	old, r := w.tracked.mirror.jobs[n.ID], w.liveRun(n)
	if n.Park == old.Park {
		return false
	}
	w.count("job is " + cmp.Or(string(n.Park), "not parked"))
	switch {
	case r == nil || n.State != job.Running || n.Stop != "":
	case n.Park == job.IsParked && (r.parked.state != checkpointed || !r.parked.closed):
		w.breach(23, "%v is recorded as parked, and the driver's state is %d, closed %t", r, r.parked.state, r.parked.closed)
	case n.Park == job.NotParked && (r.parked.state != onGPU || r.parked.closed):
		w.breach(23, "%v is recorded as not parked, and the driver's state is %d, closed %t", r, r.parked.state, r.parked.closed)
	}
	if old.Park != job.IsParked || n.Park != job.ParkGives || w.tracked.lost && listing {
		return false // a file beside an older state file may have shown what was decided before
	}
	for _, ref := range n.Attempt.GPUs {
		if d := w.toldOf(ref.UUID); d != nil {
			ref.Index = d.Index // it may have another number by now
		}
		if why := w.whyUnusable(ref); why != "" {
			w.breach(4, "job %d returns to GPU %d (%s): %s", n.ID, ref.Index, ref.UUID, why)
		}
	}
	return true
}

// judgeProcesses checks invariant 23 for the processes that the driver is to park.
func (w *World) judgeProcesses(r *run, a *core.Park) {
	all := slices.ContainsFunc(a.Processes, func(p job.ParkedProcess) bool { return p.PID == r.pid })
	if !all && r.parked.state == onGPU && r.first == 0 {
		w.breach(23, "%v is parked without its process %d: %+v", r, r.pid, a.Processes)
	}
	for _, p := range a.Processes {
		if s := w.strays[p.PID]; s != nil && s.run != r {
			w.breach(23, "process %d is parked with %v", p.PID, r)
		}
	}
}

// judgeGPUs checks invariant 3 for the GPUs of a run that begins to use them.
func (w *World) judgeGPUs(r *run) {
	milli, bytes := map[string]int{}, map[string]int64{}
	for _, o := range w.runs {
		away := o.parked.state == checkpointed || len(o.parked.saved) > 0 // even if the copies are lost
		if o.began == 0 || o.gone || o.stale || o != r && (w.isSpent(o) && o.job != r.job || away) {
			continue
		}
		for _, g := range o.gpus {
			milli[g.UUID] += cmp.Or(g.Milli, job.WholeGPU)
			bytes[g.UUID] += g.PromiseBytes
		}
	}
	for _, g := range r.gpus {
		if milli[g.UUID] > job.WholeGPU {
			w.breach(3, "GPU %s is given out to %d thousandths with %v", g.UUID, milli[g.UUID], r)
		}
		// the constant slack is what a share may lack
		if card := w.gpuOf(g.UUID); card != nil && bytes[g.UUID] > int64(card.MemTotalBytes-card.MemReservedBytes)+slack {
			w.breach(3, "%s of GPU %s are promised with %v", job.FormatSize(bytes[g.UUID]), g.UUID, r)
		}
	}
}

// judgeCopies checks invariant 23 for the memory limit of a unit: it has room for the copies of the
// job's GPU memory beside the job's own memory. What a job takes after the last sample is not known.
func (w *World) judgeCopies(r *run) {
	n := w.tracked.mirror.jobs[r.job]
	copies := min(r.parked.copies(), n.ParkBytes)
	if copies > 0 && !w.tracked.lost && r.alive && !w.fits(r, n.Request.MemBytes-n.MemLent+copies) {
		w.breach(23, "%v may not use the %s that its copies need beside its own memory", r, job.FormatSize(copies))
	}
}
