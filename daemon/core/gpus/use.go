package gpus

import (
	"cmp"
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// gpuUse is a job's part of a GPU, as the last sample shows it.
type gpuUse struct {
	l    *tracked.Job
	ref  *job.Allocation
	use  *job.GPUNow
	span time.Duration // for which the sample vouches
	told bool          // it and the one before tell how much memory the job uses
	over bool          // its job is to be stopped for what it uses
}

// usageSum is what the processes of one job use of one GPU.
type usageSum struct {
	bytes   int64
	unknown bool // of some of them
}

// useBuffer is what the looks at the GPUs need and need not remember.
type useBuffer struct {
	parts   [][]gpuUse // by the place of the GPU among the devices
	tallies map[job.ID]usageSum
}

// peakStep is the part of a GPU's memory by which a peak has to grow before it
// is a reason to write: a daemon that is killed forgets no more than that, and
// an attempt is written at most so often for it.
const peakStep = 10

// unknownTotal stands for the memory of a GPU that has none but the host's.
const unknownTotal = 64 << 30

// RecordUses records what the jobs use of a GPU. Only what a good sample shows counts,
// and only the time between two of them: never what no sample saw.
func (b *Book) RecordUses(at int, now time.Time) {
	d, parts := b.devices[at], b.uses.parts[at]
	if !d.present || d.Health != gpu.HealthOK || d.MIG || d.ProcessesUnknown {
		d.watched, d.short = time.Time{}, false
		return
	}
	span := b.span(d.watched, now)
	d.watched = now
	d.meter.read(d, span)
	clear(b.uses.tallies)
	for i := range d.Processes {
		p := &d.Processes[i]
		if id := d.jobs[p.PID]; id != 0 {
			t := b.uses.tallies[id]
			another := d.strays[p.PID] && b.personOf(p).Unsure // it may be somebody else's
			t.bytes, t.unknown = t.bytes+max(0, p.UsedBytes), t.unknown || p.UsedBytes < 0 || another
			b.uses.tallies[id] = t
		}
	}
	for i := range parts {
		b.recordUse(&parts[i], d, span)
	}
	b.keepBudgets(d, parts, now)
}

// span is the time that two good samples of a GPU vouch for: none where a clock
// jumped, or where they are too far apart to tell what was in between.
func (b *inventory) span(last, now time.Time) time.Duration {
	span := now.Sub(last)
	if last.IsZero() || span < 0 || b.policy.StaleAfter > 0 && span > b.policy.StaleAfter {
		return 0
	}
	return span
}

// GatherUses sorts the parts of all jobs by GPU.
func (b *Book) GatherUses() {
	w := &b.uses
	if w.tallies == nil {
		w.tallies = map[job.ID]usageSum{}
	}
	for len(w.parts) < len(b.devices) {
		w.parts = append(w.parts, nil)
	}
	for i := range w.parts {
		w.parts[i] = w.parts[i][:0]
	}
	for _, id := range b.jobs.ActiveIDs() {
		l := b.jobs.Active(id)
		uses := l.CurrentUses()
		for i := range l.Attempt.GPUs {
			ref := &l.Attempt.GPUs[i]
			if at := b.Position(ref); at >= 0 {
				w.parts[at] = append(w.parts[at], gpuUse{l: l, ref: ref, use: &uses[i]})
			}
		}
	}
}

// recordEvery is how much of what a job took over time a crash may lose.
const recordEvery = 10 * time.Minute

// recordUse notes what a job uses of a GPU.
func (b *Book) recordUse(p *gpuUse, d *device, span time.Duration) {
	u, before := p.use, p.use.UsedBytes
	if before != tracked.Unsampled {
		p.span = span
	}
	t, there := b.uses.tallies[p.l.ID]
	if u.UsedBytes = t.bytes; t.unknown {
		u.UsedBytes = -1
	}
	p.told = before >= 0 && u.UsedBytes >= 0
	u.PeakBytes = max(u.PeakBytes, u.UsedBytes)
	if grown := u.PeakBytes - p.ref.Use.PeakBytes; grown > int64(cmp.Or(d.MemTotalBytes, unknownTotal)/peakStep) {
		b.addFinding(UseFound{p.l})
	}
	running := p.l.State == job.Running
	if running {
		p.countUse(d, before)
	}
	if d.meter.settle(u); !running {
		return
	}
	if was := &p.ref.Use; max(u.Metered-was.Metered, u.MemSeen-was.MemSeen) > recordEvery {
		b.addFinding(UseFound{p.l})
	}
	// Nobody can say for whom a GPU computes that several jobs have.
	moved := u.UsedBytes != before && before >= 0
	u.Computing = there && (d.UtilGPUPercent != 0 || u.UsedBytes < 0 || moved)
	b.countIdle(p)
}
