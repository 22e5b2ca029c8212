package daemon

import (
	"sync"

	"github.com/gpusched/gpusched/daemon/job"
)

// unitHelpers are the processes that we have systemd bring into the units of jobs: to print a
// note, or to listen for commands. A unit that is found empty while one is on its way may
// have it a moment later. Whoever brings one looks at the unit after it has entered here,
// and turns back where nothing but a result is left.
type unitHelpers struct {
	mu          sync.Mutex
	inside      map[job.ID]int
	inspections map[*inspection]bool // under way
}

// look is one at a unit.
type inspection struct {
	of  *unitHelpers
	job job.ID
	met bool // a visit
}

// enter begins a visit; leave ends it.
func (h *unitHelpers) enter(id job.ID) (leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inside == nil {
		h.inside = map[job.ID]int{}
	}
	h.inside[id]++
	for l := range h.inspections {
		l.met = l.met || l.job == id
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.inside[id]--; h.inside[id] == 0 {
			delete(h.inside, id)
		}
	}
}

// look begins a look at a unit, which is to be given to over.
func (h *unitHelpers) inspect(id job.ID) *inspection {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inspections == nil {
		h.inspections = map[*inspection]bool{}
	}
	l := &inspection{of: h, job: id, met: h.inside[id] > 0}
	h.inspections[l] = true
	return l
}

func (h *unitHelpers) done(l *inspection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.inspections, l)
}

// disturbed reports whether a visit was under way at any time since the look began.
func (l *inspection) disturbed() bool {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	return l.met
}
