package daemon

import (
	"sync"

	"github.com/gpusched/gpusched/daemon/job"
)

// Bounds of the payloads that are kept for a start that follows soon.
const (
	freshPayloads = 1024
	freshBytes    = 64 << 10 // of each
	freshInAll    = 2 << 20  // bytes
)

// payloads are those that have just been written, until their jobs start: most start
// soon after they were submitted, and what was in memory a moment ago need not be read
// from the disk for that, which takes a tenth of a millisecond. The rest is read.
type payloads struct {
	mu    sync.Mutex
	order []job.ID // the oldest first; some may be gone
	of    map[job.ID]*job.Payload
	bytes int64 // of those
}

// put keeps one, and forgets the oldest where there are too many.
func (p *payloads) put(id job.ID, y *job.Payload) {
	if y.Size() > freshBytes {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[job.ID]*job.Payload{}
	}
	p.remove(id)
	for len(p.order) == freshPayloads || p.bytes+y.Size() > freshInAll {
		p.remove(p.order[0])
		p.order = append(p.order[:0], p.order[1:]...)
	}
	p.order = append(p.order, id)
	p.of[id] = y
	p.bytes += y.Size()
}

// take returns one and keeps it no longer; nil where it is not there.
func (p *payloads) take(id job.ID) *job.Payload {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.remove(id)
}

func (p *payloads) remove(id job.ID) *job.Payload {
	y := p.of[id]
	if y != nil {
		p.bytes -= y.Size()
		delete(p.of, id)
	}
	return y
}
