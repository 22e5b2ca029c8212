package gpus

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// An administrator may keep new jobs off one GPU, or stop all starts, even those of jobs without a
// GPU. The control of EveryGPU records that all starts are stopped.

func (b *Book) Pause(by string, what *job.Command, now time.Time) *job.Refusal {
	d := b.byIndex(what.GPU)
	if d == nil {
		return job.Refuse("not-found/gpu", what.GPU)
	}
	if d.UUID == "" {
		return job.Refuse("conflict/nameless-gpu", what.GPU)
	}
	if state, _ := b.state(d, now); what.Kind == job.CommandResumeGPU && state != sched.OK {
		b.wantProof(d)
	}
	g := job.GPUControl{
		UUID: d.UUID, Paused: what.Kind != job.CommandResumeGPU, Drain: what.Kind == job.CommandDrainGPU,
		At: now, By: by, Fault: b.controls[d.UUID].Fault,
	}
	if g.Paused {
		g.Reason, g.Until = what.Reason, what.Until
	} else {
		b.acceptFault(&g, d)
		d.failing = failedJobs{}
	}
	b.recordControl(g)
	return nil
}

// acceptFault clears a GPU's fault because an administrator says so.
func (b *Book) acceptFault(g *job.GPUControl, d *device) {
	fault := g.Fault.Anew()
	if g.Fault.Boot == b.boot() {
		fault.Boot, fault.Seq = b.boot(), max(b.kernelSeq, g.Fault.Seq)
		fault.Strays, fault.Strangers = g.Fault.Strays, g.Fault.Strangers
		if !g.Fault.Left.What.IsZero() { // the administrator has checked what was left on the GPU
			d.cleanup = nil
		}
	}
	fault.RowsAccepted = fault.RowsAccepted || d.RowsFailed
	g.Fault = fault
}

// DrainAll stops all starts, or allows them again. A drain for a reboot and an ordinary drain
// exclude each other: the reboot would end the ordinary drain, and that drain would call off the
// reboot.
func (b *Book) DrainAll(by string, what *job.Command, now time.Time) *job.Refusal {
	had := b.controls[job.EveryGPU]
	if had.Paused && what.Kind == job.CommandDrain && (had.Reboot == nil) != (what.Reboot == nil) {
		return job.Refuse("conflict/drained", had.Say())
	}
	g := job.GPUControl{UUID: job.EveryGPU, At: now, By: by, Paused: what.Kind == job.CommandDrain}
	if g.Paused {
		g.Drain, g.Reboot = true, what.Reboot
		g.Reason, g.Until = what.Reason, what.Until
	}
	b.recordControl(g)
	return nil
}

// ForReboot returns the order to drain the machine for a reboot. If there is no such order, it
// returns nil.
func ForReboot(b *Book) *job.GPUControl {
	g := b.controls[job.EveryGPU]
	if !g.Paused || g.Reboot == nil {
		return nil
	}
	return &g
}

// SetReboot changes the order that ForReboot returns, and returns the changed order, which is to be
// recorded. If r is nil, SetReboot ends the order.
func SetReboot(b *Book, r *job.Reboot, now time.Time) job.GPUControl {
	g := b.controls[job.EveryGPU]
	if g.Reboot = r; r == nil {
		g = job.GPUControl{UUID: job.EveryGPU, At: now, By: g.By}
	}
	b.controls[job.EveryGPU] = g
	return g
}

// Closed returns the order that stops all starts now. If there is no such order, it returns nil.
func (b *inventory) Closed(now time.Time) *job.GPUControl {
	g, ok := b.controls[job.EveryGPU]
	if !ok || !g.Closes() || !g.Until.IsZero() && !now.Before(g.Until) {
		return nil
	}
	return &g
}

// DueAgain reports whether any GPU is due for another sample.
func (b *Book) DueAgain(now time.Time) (due bool) {
	for _, d := range b.devices {
		if d.cleanup != nil && !d.cleanup.next.IsZero() && !now.Before(d.cleanup.next) {
			d.cleanup.next = time.Time{}
			due = true
		}
	}
	return due
}

// Expire ends pauses whose time is over.
func (b *Book) Expire(now time.Time) {
	for _, d := range b.devices {
		g := b.controls[d.UUID]
		if g.Paused && !g.Until.IsZero() && !now.Before(g.Until) {
			b.recordControl(job.GPUControl{UUID: d.UUID, At: now, By: g.By, Fault: g.Fault})
			b.wantProof(d)
		}
	}
	if g := b.controls[job.EveryGPU]; g.Closes() && b.Closed(now) == nil {
		b.recordControl(job.GPUControl{UUID: job.EveryGPU, At: now, By: g.By})
	}
}

// Deadlines yields the times at which something is due for a GPU.
func (b *inventory) Deadlines(of func(time.Time)) {
	if g := b.controls[job.EveryGPU]; g.Paused {
		of(g.Until)
	}
	for _, d := range b.devices {
		if d.cleanup != nil {
			of(d.cleanup.next)
		}
		if !d.proof.begun.IsZero() {
			of(d.proof.begun.Add(proofLimit))
		}
		of(d.failing.until)
		of(d.failing.next)
		if g := b.controls[d.UUID]; g.Paused {
			of(g.Until)
		}
	}
}
