package dst

import (
	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// judgeMemory checks invariant 3 for GPU memory when a job is placed. The free memory in the last
// sample must be enough for all memory that jobs were promised and do not use yet. The mirror
// already has the decisions of this step.
func (w *World) judgeMemory(placed *job.Job) {
	for _, ref := range placed.Attempt.GPUs {
		d := w.toldOf(ref.UUID)
		if d == nil || ref.Milli == 0 && placed.Request.GPUMemBytes == 0 || w.isUnsure(d) {
			continue
		}
		unusedPromise := int64(0)
		for _, o := range w.tracked.mirror.jobs {
			if o.State.Live() {
				unusedPromise += w.unusedPromise(&o, d)
			}
		}
		if unusedPromise > int64(d.MemFreeBytes)+slack {
			w.breach(3, "%s of GPU %s are promised and not used yet with job %d, and %s are free", job.FormatSize(unusedPromise),
				ref.UUID, placed.ID, job.FormatSize(int64(d.MemFreeBytes)))
		}
	}
}

// isUnsure reports whether a process on the GPU has memory that cannot be attributed to a job.
func (w *World) isUnsure(d *gpu.Device) bool {
	for _, p := range d.Processes {
		if p.Dead || w.strays[p.PID] != nil && p.UID != idleUID || w.runOf(p) == nil && w.strays[p.PID] == nil {
			return true
		}
	}
	return false
}

// unusedPromise returns how much GPU memory was promised to a job on this GPU and was in use in no
// sample.
func (w *World) unusedPromise(o *job.Job, d *gpu.Device) int64 {
	promise, uses := int64(0), int64(0)
	for _, ref := range o.HeldGPUs() {
		if ref.UUID == d.UUID {
			promise += ref.PromiseBytes
		}
	}
	for _, p := range d.Processes {
		if r := w.runOf(p); r != nil && r.job == o.ID {
			uses += max(0, p.UsedBytes)
		}
	}
	return max(0, promise-uses)
}

// judgeDependencies checks invariant 16 for a placed job. The mirror already has the decisions of
// this step.
func (w *World) judgeDependencies(placed *job.Job) {
	for _, d := range placed.Request.After {
		on, known := w.tracked.mirror.jobs[d.Job]
		if !known {
			continue // that job was lost with the state file
		}
		if v := d.Judge(on.State, on.Began); v != job.Met {
			w.breach(16, "job %d is placed and waits for job %d (%s), which is %s", placed.ID, d.Job, d, on.State)
		}
	}
}

// judgeUpdate checks invariant 17 for an update by an owner who is not an administrator. Such an
// update raises no priority. If an administrator has raised the priority, the update also asks for
// no more resources. The mirror does not have the decisions of this step yet.
func (w *World) judgeUpdate(e *core.Command, eff *core.Effects) {
	if e.What.Kind != job.CommandUpdate || e.Who.Admin ||
		e.What.Change.Priority != nil && !e.What.Change.Priority.Raised() {
		return
	}
	old := w.tracked.mirror.jobs[e.What.Job]
	for _, r := range eff.Records {
		if r.Job == nil || r.Job.ID != e.What.Job || !r.Job.Request.Priority.Raised() {
			continue
		}
		a, b := &old.Request, &r.Job.Request
		if !a.Priority.Raised() || b.GPUMilli > a.GPUMilli || b.GPUMemBytes > a.GPUMemBytes ||
			a.TimeLimit > 0 && (b.TimeLimit == 0 || b.TimeLimit > a.TimeLimit) {
			w.breach(17, "%s gives job %d more than an administrator raised it for: %+v, and before %+v", e.Who.User, r.Job.ID,
				*b, *a)
		}
	}
}
