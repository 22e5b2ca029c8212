package daemon

import (
	"sync"

	"github.com/gpusched/gpusched/daemon/job"
)

// unitHelpers counts the processes that the daemon starts in jobs' units, to print a note or to
// listen for commands. Such a process may enter a unit that was just found empty. Each helper
// therefore registers here first and then reads the unit's state. If the command has ended, the
// helper does not enter.
type unitHelpers struct {
	mu          sync.Mutex
	inside      map[job.ID]int
	inspections map[*inspection]bool // in progress
}

// inspection is one reading of a unit's state.
type inspection struct {
	of  *unitHelpers
	job job.ID
	met bool // a helper was in the unit during the inspection
}

// enter registers a helper that enters a job's unit. The returned function removes it again.
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

// inspect begins an inspection of a unit. The caller must end it with the method done.
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

// wasDisturbed reports whether a helper has been inside the unit since the inspection began.
func (l *inspection) wasDisturbed() bool {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	return l.met
}
