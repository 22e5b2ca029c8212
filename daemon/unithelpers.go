package daemon

import (
	"sync"

	"github.com/gpusched/gpusched/daemon/job"
)

// visits are the processes that we have systemd bring into the units of jobs: to print a
// note, or to listen for commands. A unit that is found empty while one is on its way may
// have it a moment later. Whoever brings one looks at the unit after it has entered here,
// and turns back where nothing but a result is left.
type visits struct {
	mu     sync.Mutex
	inside map[job.ID]int
	looks  map[*look]bool // under way
}

// look is one at a unit.
type look struct {
	of  *visits
	job job.ID
	met bool // a visit
}

// enter begins a visit; leave ends it.
func (v *visits) enter(id job.ID) (leave func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.inside == nil {
		v.inside = map[job.ID]int{}
	}
	v.inside[id]++
	for l := range v.looks {
		l.met = l.met || l.job == id
	}
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.inside[id]--; v.inside[id] == 0 {
			delete(v.inside, id)
		}
	}
}

// look begins a look at a unit, which is to be given to over.
func (v *visits) look(id job.ID) *look {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.looks == nil {
		v.looks = map[*look]bool{}
	}
	l := &look{of: v, job: id, met: v.inside[id] > 0}
	v.looks[l] = true
	return l
}

func (v *visits) over(l *look) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.looks, l)
}

// disturbed reports whether a visit was under way at any time since the look began.
func (l *look) disturbed() bool {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	return l.met
}
