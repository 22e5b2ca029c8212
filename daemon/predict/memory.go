package predict

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// peakDecay is a divisor. If a run takes less memory than the command's peak, the peak decreases by
// their difference divided by peakDecay.
const peakDecay = 4

// memoryKey returns the key for the GPU memory of a command. If the kind has no command, it returns
// false.
func (k Kind) memoryKey() (historyKey, bool) {
	return historyKey{memoryLevel, 0, k.Shape}, k.Shape != ""
}

// Memory returns the peak GPU memory of the runs of the kind's command, in bytes of one GPU. If no
// run is known, it returns 0.
func (p *Predictor) Memory(k Kind) int64 {
	key, ok := k.memoryKey()
	if h := p.users[k.UID].get(key); ok && h != nil {
		return h.peak
	}
	return 0
}

// ObserveMemory learns from the GPU memory that an attempt used. A peak above the known peak counts
// in full. A lower peak counts in part, and only if the command came to its end. ObserveMemory
// returns the record to store. If there is nothing to store, it returns nil.
func (p *Predictor) ObserveMemory(k Kind, peak int64, ended bool, now time.Time) *job.Prediction {
	key, ok := k.memoryKey()
	known := p.Memory(k)
	if less := known - peak; less > 0 && ended {
		peak = known - less/peakDecay
	}
	if !ok || peak <= 0 || peak <= known && !ended {
		return nil
	}
	p.userOf(k.UID).touch(p, key).peak = peak
	return &job.Prediction{Key: key.record(k.UID), PeakBytes: peak, At: now}
}
