package gpus

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// deviceUse is what is known about the use of a GPU.
type deviceUse struct {
	loads   []loadAt  // the loads in the last samples that count, the oldest first
	watched time.Time // when the GPU was last read; zero: it was not in the last sample
	meter   meter
	shared  sharedError
	short   bool // by the last sample, too little memory is free for the promises to the GPU's jobs
}

// gpuUse is a job's use of one GPU in the last sample.
type gpuUse struct {
	l        *tracked.Job
	ref      *job.Allocation
	use      *job.GPUNow
	span     time.Duration // the time that the sample counts for
	memKnown bool          // both this sample and the last one show the job's memory
	over     bool          // the job is to be stopped for its use
}

// usageSum is what the processes of one job use of one GPU.
type usageSum struct {
	bytes   int64
	unknown bool // the use of some processes is unknown
}

// useBuffer is memory that each sample uses again. Its content need not be kept.
type useBuffer struct {
	parts   [][]gpuUse // by the GPU's position in devices
	tallies map[job.ID]usageSum
}

// peakStep sets when a grown peak is recorded: when it has grown by a tenth of the GPU's memory
// (peakStep is the divisor). So a daemon that is killed forgets at most a tenth, and the peaks of
// an attempt cause at most peakStep records.
const peakStep = 10

// unknownTotal is the assumed memory of a GPU that has no memory of its own and uses the host's.
const unknownTotal = 64 << 30

// RecordUses records how jobs use a GPU. It counts only what good samples show, and only the time
// between two good samples.
func (b *Book) RecordUses(at int, now time.Time) {
	d, parts := b.devices[at], b.uses.parts[at]
	if !d.showsProcesses() {
		d.use.watched, d.use.short = time.Time{}, false
		return
	}
	span := b.span(d.use.watched, now)
	d.use.watched = now
	d.use.meter.addSample(d, span)
	clear(b.uses.tallies)
	for i := range d.Processes {
		p := &d.Processes[i]
		if id := d.jobs[p.PID]; id != 0 {
			t := b.uses.tallies[id]
			another := d.strays[p.PID] && b.personOf(p).Unsure // the process may be somebody else's
			t.bytes, t.unknown = t.bytes+max(0, p.UsedBytes), t.unknown || p.UsedBytes < 0 || another
			b.uses.tallies[id] = t
		}
	}
	for i := range parts {
		b.recordUse(&parts[i], d, span)
	}
	for i := range parts {
		b.countOver(&parts[i], now)
	}
	if b.policy.Usage.Memory == site.WarnAndStop {
		b.enforceBudgets(d, parts)
	}
}

// span returns the time for which two good samples of a GPU count. It is 0 if the clock jumped, or
// if the samples are too far apart to show what happened in between.
func (b *inventory) span(last, now time.Time) time.Duration {
	span := now.Sub(last)
	if last.IsZero() || span < 0 || b.policy.StaleAfter > 0 && span > b.policy.StaleAfter {
		return 0
	}
	return span
}

// GatherUses lists, for each GPU, the parts that jobs hold.
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
	for l := range b.jobs.Live() {
		uses := l.CurrentUses()
		for i := range l.HeldGPUs() {
			ref := &l.Attempt.GPUs[i]
			if at := b.Position(ref); at >= 0 {
				w.parts[at] = append(w.parts[at], gpuUse{l: l, ref: ref, use: &uses[i]})
			}
		}
	}
}

// A job's observed use is recorded whenever it has doubled since the last record, but not before
// recordFirst, and at least every recordEvery. A crash of the daemon loses only the use since then.
const (
	recordFirst = time.Minute
	recordEvery = 10 * time.Minute
)

// recordUse updates a job's use of a GPU.
func (b *Book) recordUse(p *gpuUse, d *device, span time.Duration) {
	u, before := p.use, p.use.UsedBytes
	if before != tracked.Unsampled {
		p.span = span
	}
	t, there := b.uses.tallies[p.l.ID]
	if u.UsedBytes = t.bytes; t.unknown {
		u.UsedBytes = -1
	}
	p.memKnown = before >= 0 && u.UsedBytes >= 0
	u.PeakBytes = max(u.PeakBytes, u.UsedBytes)
	if grown := u.PeakBytes - p.ref.Use.PeakBytes; grown > int64(cmp.Or(d.MemTotalBytes, unknownTotal)/peakStep) {
		b.addFinding(UseFound{p.l})
	}
	running := p.l.State == job.Running
	if running {
		p.countUse(d, before)
	}
	if d.use.meter.settle(u); !running {
		return
	}
	was := &p.ref.Use
	due := min(max(recordFirst, was.Metered, was.MemSeen), recordEvery)
	if max(u.Metered-was.Metered, u.MemSeen-was.MemSeen) > due {
		b.addFinding(UseFound{p.l})
	}
	// If several jobs share a GPU, nobody can say for which of them it computes.
	moved := u.UsedBytes != before && before >= 0
	u.Computing = there && (d.UtilGPUPercent != 0 || u.UsedBytes < 0 || moved)
	b.countIdle(p)
}

// loadAt is the utilization of a GPU in a sample, in percent. It is -1 if it is unknown.
type loadAt struct {
	at      time.Time
	percent int
}

// maxLoads is the largest number of loads that are kept for a GPU.
const maxLoads = 1000

// noteLoad keeps the utilization in the last sample, and drops the loads that are older than the
// window. If the clock was set back, noteLoad drops all earlier loads.
func (d *device) noteLoad(window time.Duration, now time.Time) {
	if n := len(d.use.loads); n > 0 && now.Before(d.use.loads[n-1].at) {
		d.use.loads = nil
	}
	first := slices.IndexFunc(d.use.loads, func(l loadAt) bool { return now.Sub(l.at) < window })
	if first < 0 {
		first = len(d.use.loads)
	}
	first = max(first, len(d.use.loads)-maxLoads+1)
	d.use.loads = append(slices.Delete(d.use.loads, 0, first), loadAt{now, d.UtilGPUPercent})
}

// load returns the mean utilization of a GPU over the samples that count. If it is unknown in all
// of them, load returns -1.
func (d *device) load() int {
	sum, known := 0, 0
	for _, l := range d.use.loads {
		if l.percent >= 0 {
			sum, known = sum+l.percent, known+1
		}
	}
	if known == 0 {
		return d.UtilGPUPercent
	}
	return (sum + known/2) / known
}

// countIdle notes for how long a job has not used one of its GPUs. A job does not use a GPU if it
// has no process there, or if its processes neither compute nor change their memory. So a notebook
// or a debugger that holds memory and does nothing is idle. On a shared GPU, no job counts as idle
// while the GPU computes for any of its jobs.
func (b *Book) countIdle(p *gpuUse) {
	u, w := p.use, &b.policy.Usage
	if u.Computing || p.l.IsSuspended() {
		if u.IdleWarned != 0 { // otherwise the job would count as idle and warned after a restart
			b.addFinding(UseFound{p.l})
		}
		u.Idle, u.IdleWarned = 0, 0
		return
	}
	u.Idle += p.span
	does := idleResponse(b, p.l)
	if does == site.Ignore || does.Breaks(u.IdleGrace, w.IdleGrace) {
		u.IdleWarned = 0 // so the job counts as not warned
	}
	if does != site.Ignore && u.IdleWarned == 0 && u.Idle >= w.IdleAfter && p.l.Stop == "" {
		u.IdleWarned, u.IdleGrace = u.Idle, does.Grace(w.IdleGrace)
		b.addFinding(NoticeFound{p.l, job.IdleWarning(p.l.ID, p.ref.Index, u.Idle, u.IdleGrace, does == site.WarnAndPark)})
	}
}

// idleResponse returns what is done about a job while it is idle. A job that the scheduler can't park
// is only warned. By the last sample, that includes a job without a process on its GPUs.
func idleResponse(b *Book, l *tracked.Job) site.Response {
	does := b.policy.Usage.Idle
	if does != site.WarnAndPark {
		return does
	}
	if procs, _, known := b.GPUProcesses(l, b.lastGoodSample); known && len(procs) > 0 && MayPark(b.policy, l) {
		return does
	}
	return site.Warn
}

// FindIdle finds jobs that have used none of their GPUs for too long. The present sample must show
// all of a job's GPUs.
func (b *Book) FindIdle(now time.Time) {
	if b.policy.Usage.Idle < site.WarnAndStop {
		return
	}
	for l := range b.jobs.Live() {
		if l.State != job.Running || l.Stop != "" || l.IsSuspended() || len(l.HeldGPUs()) == 0 {
			continue
		}
		switch idle, at := b.idleFor(l, now); {
		case at < 0:
		case idleResponse(b, l) == site.WarnAndPark:
			b.addFinding(ParkFound{l.ID})
		case b.policy.Usage.Idle == site.WarnAndStop:
			breach := &job.Breach{GPU: l.Attempt.GPUs[at].Index, Idle: job.Span(idle)}
			b.addFinding(StopFound{Job: l.ID, Cause: job.StopIdle, Breach: breach})
		}
	}
}

// idleFor returns for how long a job has used none of its GPUs, and the position of the GPU that it
// used last. If it is too early to stop the job, or the use of some GPU is unknown, the position is
// -1.
func (b *inventory) idleFor(l *tracked.Job, now time.Time) (idle time.Duration, last int) {
	uses := l.CurrentUses()
	for i := range uses {
		at, u := b.Position(&l.Attempt.GPUs[i]), &uses[i]
		if at < 0 || !b.devices[at].use.watched.Equal(now) ||
			u.IdleWarned == 0 || u.Idle < u.IdleWarned+b.policy.Usage.IdleGrace {
			return 0, -1
		}
		if i == 0 || u.Idle < idle {
			idle, last = u.Idle, i
		}
	}
	return idle, last
}

// meter measures the energy of a GPU up to the last good sample. Most samples are short and do not
// report the driver's energy counter, so the jobs' parts are first estimated from the power. When a
// full sample reports the counter, the estimates since its previous report are scaled to match it.
type meter struct {
	power    int64   // milliwatts; -1: unknown
	counter  uint64  // millijoules since the driver was loaded, by the last report of the counter; 0: unknown
	reckoned int64   // millijoules since that report, estimated from the power
	spent    int64   // how much of the field reckoned falls into the span of the last sample; -1: unknown
	scale    float64 // the factor by which to correct a job's estimate; 0: not known yet
}

// addSample handles a good sample that counts for a span. The estimates are not corrected if the
// driver has no counter, if the counter began anew, or if the driver did not always report the
// power.
func (m *meter) addSample(d *device, span time.Duration) {
	before := *m
	*m = meter{power: d.PowerMilliW, counter: d.EnergyMilliJ, spent: -1}
	if span > 0 && before.power >= 0 && m.power >= 0 {
		m.spent = max(1, (before.power+m.power)/2*span.Milliseconds()/1000)
	}
	reckoned := before.reckoned + max(0, m.spent)
	switch {
	case m.spent < 0 || before.counter == 0: // otherwise jobs would be charged for energy that was not estimated
		m.scale = 1
	case m.counter == 0:
		m.counter, m.reckoned = before.counter, reckoned
	case m.counter < before.counter:
		m.scale = 1
	default:
		m.scale = float64(m.counter-before.counter) / float64(reckoned)
	}
}

// settle corrects the estimate of a job's part of the energy.
func (m *meter) settle(u *job.GPUNow) {
	if m.scale > 0 {
		u.MilliJ += int64(math.Round(float64(u.Reckoned) * (m.scale - 1)))
		u.Reckoned = 0
	}
}

// countUse adds what a running job used in the time for which a sample counts. The argument
// prevBytes is the GPU memory that the job used in the previous sample.
func (p *gpuUse) countUse(d *device, prevBytes int64) {
	u := p.use
	if d.UtilGPUPercent >= 0 {
		busy := min(d.UtilGPUPercent, 100)
		u.Seen += p.span
		u.Busy += p.span * time.Duration(busy) / 100
		if p.span > 0 {
			u.PeakBusy = max(u.PeakBusy, busy)
		}
	}
	if p.memKnown {
		u.MemSeen += p.span
		u.MemMiBMS += (prevBytes + u.UsedBytes) / 2 >> 20 * p.span.Milliseconds()
	}
	if d.use.meter.spent >= 0 && p.span > 0 {
		part := d.use.meter.spent * int64(p.ref.Share()) / job.WholeGPU
		u.Metered += p.span
		u.MilliJ, u.Reckoned = u.MilliJ+part, u.Reckoned+part
	}
}
