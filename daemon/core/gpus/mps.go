package gpus

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// Programs that share a GPU with MPS share its errors too: if one of them makes the GPU report an
// error, the driver ends the work of all, and does not say whose fault it was. A job that fails soon
// after such an error is therefore tried once more, without MPS and alone on its GPU.

// errorSpan is the time within which programs notice an error of a GPU, at most.
const errorSpan = 10 * time.Second

// sharedError is an error of a GPU that several jobs shared with MPS.
type sharedError struct {
	at   time.Time
	what job.Message
}

// noteShared notes an error of a GPU if several jobs share the GPU with MPS.
func noteShared(b *Book, d *device, e ErrorReport) {
	jobs := 0
	for l := range b.jobs.Live() {
		if l.Request.Mates.UID() >= 0 && b.jobs.Holds(l.ID, d.UUID) && !e.At.Before(l.Attempt.PlacedAt) {
			jobs++
		}
	}
	if jobs > 1 && e.Xid.Code != gpu.XidRecovery {
		d.use.shared = sharedError{e.At, xidMessage(e.Xid.Code)}
	}
}

// BlameSharedError changes the result of a job that failed by itself, if it did so after the control
// program of MPS had ended, or after an error of its GPU that ended its mates too. If the driver has
// named a process of this job, the error is its own.
func BlameSharedError(b *Book, l *tracked.Job, r *job.Result, without bool, now time.Time) {
	failed := r.Outcome == job.Failed && r.Cause == "" && l.Stop == ""
	if l.Request.Mates.UID() < 0 || l.GPUError != nil || !failed {
		return
	}
	if without {
		r.Cause, r.Detail = job.StopMPS, job.Say("detail/mps-ended")
	}
	for _, d := range b.gpusOf(l.Job) {
		at := d.use.shared.at
		if !at.Before(l.Attempt.StartedAt) && now.Sub(at) <= errorSpan {
			r.Cause, r.Detail = job.StopMPS, job.Say("detail/mps-fault", d.Index, d.use.shared.what)
		}
	}
}
