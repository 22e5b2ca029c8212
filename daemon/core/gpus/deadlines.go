package gpus

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// DueAgain reports whether a GPU is due to be looked at again.
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
			b.control(job.GPUControl{UUID: d.UUID, At: now, By: g.By, Fault: g.Fault})
		}
	}
	if g := b.controls[job.EveryGPU]; g.Paused && b.Closed(now) == nil {
		b.control(job.GPUControl{UUID: job.EveryGPU, At: now, By: g.By})
	}
}

// Deadlines are when something of a GPU comes due.
func (b *inventory) Deadlines(of func(time.Time)) {
	if g := b.controls[job.EveryGPU]; g.Paused {
		of(g.Until)
	}
	for _, d := range b.devices {
		if d.cleanup != nil {
			of(d.cleanup.next)
		}
		of(d.failing.until)
		of(d.failing.next)
		if g := b.controls[d.UUID]; g.Paused {
			of(g.Until)
		}
	}
}
