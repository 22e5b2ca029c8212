package daemon

import (
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/gpu"
)

// report logs a change that is on disk now, once per change, and wakes those
// who wait for it.
func (d *Daemon) report(r job.Record) {
	if g := r.GPU; g != nil {
		if f := g.Fault; gpu.Recovery(f.Recovery).Sick() {
			d.log.Error("gpu is out of service since an error, see gpusched health", "gpu_uuid", g.UUID,
				"error", words.Say(f.What), "job", f.Job, "needs", gpu.Recovery(f.Recovery).Needs())
		}
		if l := g.Fault.Left; !l.What.IsZero() {
			d.log.Error("gpu is out of service since a job left something on it, see gpusched health", "gpu_uuid", g.UUID, "left", words.Say(l.What), "job", l.Job, "needs", gpu.RecoverReset.Needs())
		}
		d.log.Info("gpu control changed", "gpu_uuid", g.UUID, "paused", g.Paused, "by", g.By, "reason", g.Reason)
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
	if l := r.Left; l != nil {
		d.log.Warn("a job left something behind", "job", l.Job, "attempt", l.Attempt, "left", words.Say(l.What))
		return
	}
	if n := r.Notification; n != nil && !n.Closed.IsZero() && !n.Sent() {
		d.log.Warn("message given up", "job", n.Job, "uid", n.UID, "event", n.Event, "way", n.Way, "tries", n.Tries, "why", words.Say(n.Why))
	}
	if r.Job == nil {
		return
	}
	d.waiters.news(r.Job)
	d.opt.Tally.Job(r.Job)
	if r.Quiet {
		return // what was learned or used is no change of state
	}
	d.log.Info("job "+string(r.Job.State), jobFields(r.Job)...)
	if r.Job.State.Terminal() {
		d.forget.count()
	}
}

// jobFields are what a line about a job tells: which one, where it is or was,
// and why its state is what it is.
func jobFields(j *job.Job) []any {
	fields := []any{"job", j.ID, "state", j.State, "uid", j.Owner.UID, "user", j.Owner.User}
	if j.Task != nil {
		fields = append(fields, "task", j.Task.String())
	}
	a := j.Attempt
	if a != nil {
		fields = append(fields, "attempt", a.Number, "gpu", job.FormatGPUList(j.GPUIndexes()))
	}
	switch {
	case j.Result != nil:
		fields = append(fields, "result", words.Result(j.Result))
	case j.State == job.Queued && a != nil && a.Result != nil: // it is back
		fields = append(fields, "result", words.Result(a.Result))
	case j.Stop != "":
		fields = append(fields, "stop", j.Stop)
	case j.TooManyFailed():
		fields = append(fields, "why", string(job.ReasonFailures), "failed", j.Tasks.Failures)
	}
	if j.Left != "" {
		fields = append(fields, "left", j.Left)
	}
	if j.GPUError != nil {
		fields = append(fields, "gpu_error", words.GPUError(*j.GPUError))
	}
	return fields
}
