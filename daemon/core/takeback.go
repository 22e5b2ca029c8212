package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// A sample may be seconds old, and a GPU may be in use by others since. A
// job that is to have whole GPUs alone is therefore placed, which keeps them for
// it, and its unit is started only when a sample that was asked for afterwards
// shows them free; else it goes back to the queue and nothing of it has run. What
// a sample has just brought needs no other.

// needsSample reports whether the start of a job rests on a look at its GPUs.
func (c *Core) needsSample(l *trackedJob) bool {
	return c.policy.MaxForeignBytes > 0 && l.job.Request.Alone()
}

// needsFreshSample reports whether the GPUs of a job that is placed are to be looked at first.
func (c *Core) needsFreshSample(l *trackedJob) bool { return !c.step.fresh() && c.needsSample(l) }

// awaitSample asks for the look that the start of a job waits for.
func (c *Core) awaitSample(l *trackedJob) {
	l.action, l.awaits = checking, c.requestSample()
}

// checked starts the jobs whose GPUs have been looked at, or takes them back.
func (c *Core) checked(number uint64, now time.Time) {
	for _, id := range slices.Clone(c.jobs.activeIDs()) {
		l := c.jobs.active(id)
		if l.action != checking || number < l.awaits {
			continue
		}
		l.action = noAction
		why := c.gpus.denied(l.job.Attempt.GPUs, now)
		if c.systemd.leaving() {
			why = job.Say("detail/going-down")
		}
		if !why.IsZero() {
			c.endAttempt(l, job.Result{Outcome: job.Lost, Cause: job.StopTaken, Detail: why}, now)
		} else {
			c.start(l, now)
		}
	}
}

// denied says why a job can't have the GPUs alone that it was given; nothing if it can.
func (b *gpuBook) denied(refs []job.Allocation, now time.Time) job.Message {
	for i := range refs {
		ref := &refs[i]
		at := b.position(ref)
		if at < 0 {
			return job.Say("detail/gpu-gone", ref.Index)
		}
		d := b.devices[at]
		switch state, _ := b.state(d, now); state {
		case sched.OK, sched.Paused, sched.Drained:
		default:
			return job.Say("detail/gpu-is", d.Index, state)
		}
		if r := b.occupants(d); ref.Share() == job.WholeGPU && (len(r.Foreign) > 0 || r.Have > 0) {
			return job.Say("detail/gpu-is", d.Index, r)
		}
	}
	return job.Message{}
}

// occupants are those who have a GPU on which nothing of a job has begun yet.
func (b *gpuBook) occupants(d *device) job.Reason {
	r := job.Reason{Code: job.ReasonGPUForeign, GPU: d.Index, Foreign: d.without(b.occupies)}
	if rest := b.unaccounted(d); rest > b.policy.MaxForeignBytes {
		r.Have = rest
	}
	return r
}
