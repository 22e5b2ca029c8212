package daemon

import (
	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// report logs a change that is on disk now, once per change, and wakes those
// who wait for the job's end.
func (d *Daemon) report(r core.Record) {
	if g := r.GPU; g != nil {
		d.log.Info("gpu control changed", "gpu", g.UUID, "paused", g.Paused, "by", g.By, "reason", g.Reason)
		return
	}
	if v := r.Reservation; v != nil {
		d.log.Info("reservation made", "reservation", v.ID, "by", v.By, "from", v.From, "to", v.To, "reason", v.Reason)
		return
	}
	if r.Unreserve != 0 {
		d.log.Info("reservation ended", "reservation", r.Unreserve)
		return
	}
	if r.Job == nil {
		return // what was learned or used is no change of state
	}
	j := r.Job
	args := []any{"job", j.ID, "state", j.State, "uid", j.Owner.UID}
	if a := j.Attempt; a != nil {
		args = append(args, "attempt", a.Number, "gpu", job.FormatGPUList(j.GPUIndexes()))
	}
	if j.Result != nil {
		args = append(args, "result", j.Result.Sentence())
	}
	d.log.Info("job "+string(j.State), args...)
	if j.State.Terminal() {
		d.waiters.ended(j.ID)
	}
}
