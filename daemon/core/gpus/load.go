package gpus

import (
	"slices"
	"time"
)

// loadAt is how busy a sample showed a GPU, in percent; -1: unknown.
type loadAt struct {
	at      time.Time
	percent int
}

// maxLoads bounds how many samples of a GPU are kept.
const maxLoads = 1000

// noteLoad keeps what the last sample showed, and forgets what is out of the window. After
// a clock was set back it begins anew.
func (d *device) noteLoad(window time.Duration, now time.Time) {
	if n := len(d.loads); n > 0 && now.Before(d.loads[n-1].at) {
		d.loads = nil
	}
	first := slices.IndexFunc(d.loads, func(l loadAt) bool { return now.Sub(l.at) < window })
	if first < 0 {
		first = len(d.loads)
	}
	first = max(first, len(d.loads)-maxLoads+1)
	d.loads = append(slices.Delete(d.loads, 0, first), loadAt{now, d.UtilGPUPercent})
}

// load is how busy a GPU is, by the mean of the samples that count; -1: none of them knows.
func (d *device) load() int {
	sum, known := 0, 0
	for _, l := range d.loads {
		if l.percent >= 0 {
			sum, known = sum+l.percent, known+1
		}
	}
	if known == 0 {
		return d.UtilGPUPercent
	}
	return (sum + known/2) / known
}
