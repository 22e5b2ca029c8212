package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// meter is what is known of the energy of a GPU as of its last good sample. Most samples are
// looks, which tell the power only: what was used up to one is reckoned, and the next that
// tells the counter sets it right.
type meter struct {
	power    int64  // milliwatts; -1 unknown
	counter  uint64 // millijoules since the driver was loaded, as last told; 0 unknown
	reckoned int64  // millijoules that were put down to jobs since then
	spent    int64  // millijoules in the time before the sample that it vouches for; -1 unknown
}

// read takes a good sample that vouches for a span. Where the driver counts no energy,
// or began to count anew, it is the power times the time.
func (m *meter) read(d *device, span time.Duration) {
	before := *m
	*m = meter{power: d.PowerMilliW, counter: d.EnergyMilliJ, spent: -1}
	switch {
	case span <= 0:
		return
	case before.counter > 0 && m.counter >= before.counter:
		m.spent = max(0, int64(m.counter-before.counter)-before.reckoned)
	case before.power >= 0 && m.power >= 0:
		m.spent = (before.power + m.power) / 2 * span.Milliseconds() / 1000
	}
	if m.counter == 0 {
		m.counter, m.reckoned = before.counter, before.reckoned+max(0, m.spent)
	}
}

// countUse adds what a running job used in the time that a sample vouches for: before is
// what it held of the GPU's memory at the sample before that.
func (p *gpuUse) countUse(d *device, before int64) {
	u := p.use
	if d.UtilGPUPercent >= 0 {
		busy := min(d.UtilGPUPercent, 100)
		u.Seen += p.span
		u.Busy += p.span * time.Duration(busy) / 100
		if p.span > 0 {
			u.PeakBusy = max(u.PeakBusy, busy)
		}
	}
	if p.told {
		u.MemSeen += p.span
		u.MemMiBMS += (before + u.UsedBytes) / 2 >> 20 * p.span.Milliseconds()
	}
	if d.meter.spent >= 0 && p.span > 0 {
		u.Metered += p.span
		u.MilliJ += d.meter.spent * int64(p.ref.Share()) / job.WholeGPU
	}
}
