package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// part is a job's part of a GPU, as the last sample shows it.
type part struct {
	l    *live
	ref  *job.GPURef
	use  *job.GPUNow
	span time.Duration // for which the sample vouches
}

// unseen is the use of a GPU that no sample showed since the attempt began, or
// since the daemon did.
const unseen = -2

// tally is what the processes of one job use of one GPU.
type tally struct {
	bytes   int64
	unknown bool // of some of them
}

// watcher is what the looks at the GPUs need and need not remember.
type watcher struct {
	parts   [][]part // by the place of the GPU among the devices
	tallies map[job.ID]tally
}

// peakStep is the part of a GPU's memory by which a peak has to grow before it
// is a reason to write: a daemon that is killed forgets no more than that, and
// an attempt is written at most so often for it.
const peakStep = 10

// unknownTotal stands for the memory of a GPU that has none but the host's.
const unknownTotal = 64 << 30

// watch takes in what the jobs use of the GPUs, and does what the site wants
// done about it. Only what a good sample shows counts, and only the time between
// two of them: never what nobody saw.
func (c *Core) watch(now time.Time) {
	c.gather()
	for at, d := range c.gpus.devices {
		if !d.present || d.Health != gpu.HealthOK || d.MIG || d.ProcessesUnknown {
			d.watched, d.short = time.Time{}, false
			continue
		}
		span := c.span(d.watched, now)
		d.watched = now
		clear(c.gpus.watcher.tallies)
		for i := range d.Processes {
			p := &d.Processes[i]
			if id := d.jobs[p.PID]; id != 0 {
				t := c.gpus.watcher.tallies[id]
				t.bytes, t.unknown = t.bytes+max(0, p.UsedBytes), t.unknown || p.UsedBytes < 0
				c.gpus.watcher.tallies[id] = t
			}
		}
		for i := range c.gpus.watcher.parts[at] {
			c.take(&c.gpus.watcher.parts[at][i], d, span)
		}
		c.keepBudgets(d, c.gpus.watcher.parts[at], now)
	}
	c.endIdle(now)
}

// unwatch is for a look that showed nothing: no time counts that passes until
// the next good one.
func (b *gpuBook) unwatch() {
	for _, d := range b.devices {
		d.watched, d.short = time.Time{}, false
	}
}

// span is the time that two good samples of a GPU vouch for: none where a clock
// jumped, or where they are too far apart to tell what was in between.
func (c *Core) span(last, now time.Time) time.Duration {
	span := now.Sub(last)
	if last.IsZero() || span < 0 || c.policy.StaleAfter > 0 && span > c.policy.StaleAfter {
		return 0
	}
	return span
}

// gather sorts the parts of all jobs by GPU.
func (c *Core) gather() {
	w := &c.gpus.watcher
	if w.tallies == nil {
		w.tallies = map[job.ID]tally{}
	}
	for len(w.parts) < len(c.gpus.devices) {
		w.parts = append(w.parts, nil)
	}
	for i := range w.parts {
		w.parts[i] = w.parts[i][:0]
	}
	for _, id := range c.jobs.activeIDs() {
		l := c.jobs.active(id)
		uses := l.track()
		for i := range l.job.Attempt.GPUs {
			ref := &l.job.Attempt.GPUs[i]
			if at := c.gpus.position(ref); at >= 0 {
				w.parts[at] = append(w.parts[at], part{l: l, ref: ref, use: &uses[i]})
			}
		}
	}
}

// take notes what a job uses of a GPU.
func (c *Core) take(p *part, d *device, span time.Duration) {
	u, before := p.use, p.use.UsedBytes
	if before != unseen {
		p.span = span
	}
	t, there := c.gpus.watcher.tallies[p.l.job.ID]
	if u.UsedBytes = t.bytes; t.unknown {
		u.UsedBytes = -1
	}
	if u.PeakBytes = max(u.PeakBytes, u.UsedBytes); u.PeakBytes-p.ref.Use.PeakBytes > int64(cmp.Or(d.MemTotalBytes, unknownTotal)/peakStep) {
		c.step.touchQuietly(p.l)
	}
	if p.l.job.State != job.Running {
		return
	}
	if d.UtilGPUPercent >= 0 {
		u.Seen += p.span
		u.Busy += p.span * time.Duration(min(d.UtilGPUPercent, 100)) / 100
	}
	// Nobody can say for whom a GPU computes that several jobs have.
	moved := u.UsedBytes != before && before >= 0
	u.Computing = there && (d.UtilGPUPercent != 0 || u.UsedBytes < 0 || moved)
	c.countIdle(p)
}

// track returns what is known of the use of the GPUs of the current attempt.
func (l *live) track() []job.GPUNow {
	a := l.job.Attempt
	if l.tracked == a.Number && len(l.uses) == len(a.GPUs) {
		return l.uses
	}
	l.tracked, l.uses = a.Number, make([]job.GPUNow, len(a.GPUs))
	for i := range a.GPUs {
		l.uses[i] = job.GPUNow{GPUUse: a.GPUs[i].Use, UsedBytes: unseen}
	}
	return l.uses
}

// keepUse puts what is known of the use of its GPUs into the job's attempt, for
// a record.
func (l *live) keepUse() {
	a := l.job.Attempt
	if a == nil || l.tracked != a.Number || len(l.uses) != len(a.GPUs) {
		return
	}
	refs := slices.Clone(a.GPUs)
	for i := range refs {
		refs[i].Use = l.uses[i].GPUUse
	}
	if slices.Equal(refs, a.GPUs) {
		return
	}
	changed := *a
	changed.GPUs = refs
	l.job.Attempt = &changed
}

// usesNow are what views show; nil where the job has no GPU now.
func (l *live) usesNow() []job.GPUNow {
	if !l.job.State.Live() || len(l.job.Attempt.GPUs) == 0 {
		return nil
	}
	uses := slices.Clone(l.track())
	for i := range uses {
		uses[i].UsedBytes = max(uses[i].UsedBytes, -1)
	}
	return uses
}
