package predict

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Most is the most that any run of a command took, whatever the number of GPUs and however the run
// ended. Unlike Memory and Estimate, Most never decreases, since a lower limit would have ended one
// of the runs. A field is 0 if its value is unknown.
type Most struct {
	Run     time.Duration
	GPUMem  int64 // in bytes of one GPU
	HostMem int64 // in bytes
}

// Max returns the larger value of each field of m and o.
func (m Most) Max(o Most) Most {
	return Most{max(m.Run, o.Run), max(m.GPUMem, o.GPUMem), max(m.HostMem, o.HostMem)}
}

// mostKeys returns the keys of the two histories that contain the Most of a command. If the kind
// has no command, it returns false.
func (k Kind) mostKeys() (run, host historyKey, ok bool) {
	return historyKey{mostLevel, 0, k.Shape}, historyKey{hostLevel, 0, k.Shape}, k.Shape != ""
}

// Most returns the most that any run of the kind's command took.
func (p *Predictor) Most(k Kind) (m Most) {
	run, host, ok := k.mostKeys()
	u := p.users[k.UID]
	if h := u.get(run); ok && h != nil {
		m.Run, m.GPUMem = h.typical, h.peak
	}
	if h := u.get(host); ok && h != nil {
		m.HostMem = h.peak
	}
	return m
}

// ObserveMost learns what an attempt took, and returns the records to store.
func (p *Predictor) ObserveMost(k Kind, took Most, now time.Time) (out []job.Prediction) {
	run, host, ok := k.mostKeys()
	if !ok {
		return nil
	}
	known := p.Most(k)
	m := known.Max(took)
	for _, key := range []historyKey{run, host} { // a key that is used is not evicted
		if u := p.users[k.UID]; u.get(key) != nil {
			u.touch(p, key)
		}
	}
	if m.Run != known.Run || m.GPUMem != known.GPUMem {
		h := p.userOf(k.UID).touch(p, run)
		h.typical, h.peak = m.Run, m.GPUMem
		out = append(out, job.Prediction{Key: run.record(k.UID), Typical: m.Run, PeakBytes: m.GPUMem, At: now})
	}
	if m.HostMem != known.HostMem {
		p.userOf(k.UID).touch(p, host).peak = m.HostMem
		out = append(out, job.Prediction{Key: host.record(k.UID), PeakBytes: m.HostMem, At: now})
	}
	return out
}
