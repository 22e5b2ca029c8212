package gpus

import (
	"math"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// meter is what is known of the energy of a GPU as of its last good sample. What jobs use is
// reckoned from the power at first. Most samples are looks, which tell nothing else; when one
// tells the driver's own count, what was reckoned since the last is scaled to that.
type meter struct {
	power    int64   // milliwatts; -1 unknown
	counter  uint64  // millijoules since the driver was loaded, as last told; 0 unknown
	reckoned int64   // millijoules since then, by the power
	spent    int64   // of these, in the time before the sample that it vouches for; -1 unknown
	scale    float64 // from what was reckoned of a job's part to what it was; 0: not told yet
}

// read takes a good sample that vouches for a span. Where the driver counts no energy, began
// to count anew, or did not tell the power meanwhile, what was reckoned stands.
func (m *meter) read(d *device, span time.Duration) {
	before := *m
	*m = meter{power: d.PowerMilliW, counter: d.EnergyMilliJ, spent: -1}
	if span > 0 && before.power >= 0 && m.power >= 0 {
		m.spent = max(1, (before.power+m.power)/2*span.Milliseconds()/1000)
	}
	reckoned := before.reckoned + max(0, m.spent)
	switch {
	case m.spent < 0 || before.counter == 0: // what is not reckoned must not be put down to the rest
		m.scale = 1
	case m.counter == 0:
		m.counter, m.reckoned = before.counter, reckoned
	case m.counter < before.counter:
		m.scale = 1
	default:
		m.scale = float64(m.counter-before.counter) / float64(reckoned)
	}
}

// settle scales what was reckoned of a job's part of a GPU.
func (m *meter) settle(u *job.GPUNow) {
	if m.scale > 0 {
		u.MilliJ += int64(math.Round(float64(u.Reckoned) * (m.scale - 1)))
		u.Reckoned = 0
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
		part := d.meter.spent * int64(p.ref.Share()) / job.WholeGPU
		u.Metered += p.span
		u.MilliJ, u.Reckoned = u.MilliJ+part, u.Reckoned+part
	}
}
