package predict

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// forgetting is what part of the way down a run takes the peak of its command that came to
// its end with less.
const forgetting = 4

// memoryKey is that of what is known of the GPU memory of a command, on GPUs of which it
// has all or a part; false: it has none.
func (k Kind) memoryKey() (historyKey, bool) {
	return historyKey{memoryLevel, 0, k.Shape}, k.Shape != ""
}

// Memory is the most GPU memory that runs of a kind's command are known to take, in bytes
// of one GPU; 0: no run is known.
func (p *Predictor) Memory(k Kind) int64 {
	key, ok := k.memoryKey()
	if h := p.users[k.UID].get(key); ok && h != nil {
		return h.peak
	}
	return 0
}

// ObserveMemory learns of an attempt that took so much of a GPU's memory: at once where
// that is more than is known, in part where it is less and the command came to its end.
// It returns what to record, nil for nothing.
func (p *Predictor) ObserveMemory(k Kind, peak int64, ended bool, now time.Time) *job.Prediction {
	key, ok := k.memoryKey()
	known := p.Memory(k)
	if less := known - peak; less > 0 && ended {
		peak = known - less/forgetting
	}
	if !ok || peak <= 0 || peak <= known && !ended {
		return nil
	}
	p.of(k.UID).touch(p, key).peak = peak
	return &job.Prediction{Key: key.record(k.UID), PeakBytes: peak, At: now}
}
