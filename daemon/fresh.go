package daemon

import (
	"sync"

	"github.com/gpusched/gpusched/daemon/job"
)

// Bounds of the payloads that are kept for a start that follows at once.
const (
	freshPayloads = 32
	freshBytes    = 64 << 10 // of each
)

// payloads are those that have just been written, until their jobs start: most start
// right after they were submitted, and what was in memory a moment ago need not be read
// from the disk for that. The rest is read.
type payloads struct {
	mu    sync.Mutex
	order []job.ID // the oldest first
	of    map[job.ID]*job.Payload
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
	if len(p.order) == freshPayloads {
		delete(p.of, p.order[0])
		p.order = append(p.order[:0], p.order[1:]...)
	}
	p.order = append(p.order, id)
	p.of[id] = y
}

// take returns one and keeps it no longer; nil where it is not there.
func (p *payloads) take(id job.ID) *job.Payload {
	p.mu.Lock()
	defer p.mu.Unlock()
	y := p.of[id]
	delete(p.of, id)
	return y
}
