package gpus

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// An administrator may keep new jobs off a GPU, or have the scheduler start no job at all, those
// without a GPU included. On record that is the control of every GPU.

func (b *Book) Pause(by string, what *job.Command, now time.Time) *job.Refusal {
	d := b.byIndex(what.GPU)
	if d == nil {
		return job.Refuse("not-found/gpu", what.GPU)
	}
	if d.UUID == "" {
		return job.Refuse("conflict/nameless-gpu", what.GPU)
	}
	g := job.GPUControl{
		UUID: d.UUID, Paused: what.Kind != job.CommandResumeGPU, Drain: what.Kind == job.CommandDrainGPU,
		At: now, By: by, Fault: b.controls[d.UUID].Fault,
	}
	if g.Paused {
		g.Reason, g.Until = what.Reason, what.Until
	} else {
		b.acceptFault(&g, d)
		d.failing = failing{}
	}
	b.control(g)
	return nil
}

// acceptFault takes an administrator's word for it that the GPU is well.
func (b *Book) acceptFault(g *job.GPUControl, d *device) {
	fault := g.Fault.Anew()
	if g.Fault.Boot == b.boot() {
		fault.Boot, fault.Seq, fault.Strays = b.boot(), max(b.kernelSeq, g.Fault.Seq), g.Fault.Strays
		if !g.Fault.Left.What.IsZero() { // somebody looked at it instead of us
			d.cleanup = nil
		}
	}
	fault.RowsAccepted = fault.RowsAccepted || d.RowsFailed
	g.Fault = fault
}

// DrainAll begins or ends that no job starts.
func (b *Book) DrainAll(by string, what *job.Command, now time.Time) {
	g := job.GPUControl{UUID: job.EveryGPU, At: now, By: by, Paused: what.Kind == job.CommandDrain}
	if g.Paused {
		g.Drain, g.Reason, g.Until = true, what.Reason, what.Until
	}
	b.control(g)
}

// Closed is the order by which no job starts at the moment; nil: there is none.
func (b *inventory) Closed(now time.Time) *job.GPUControl {
	g, ok := b.controls[job.EveryGPU]
	if !ok || !g.Paused || !g.Until.IsZero() && !now.Before(g.Until) {
		return nil
	}
	return &g
}
