package sched

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// course records what a future does with the GPUs. It is kept of one in which every job runs
// for as long as expected: in one of those that are drawn each job has a length of its own, and
// what it shows of a GPU would be one accident of many.
type course struct {
	far   Instant // so far it goes
	stays []Stay
	open  map[job.ID]int // the stay of each job that runs
}

// maxStays bounds a course: an array can have very many tasks.
const maxStays = 4096

// Stay is the time that a job has on GPUs.
type Stay struct {
	Job    job.ID // of a task that has not become a job, its array
	Grants []Grant
	From   Instant // of one that runs already, when its attempt began
	Until  Instant // Never: nobody can say
	Late   Instant // over by then in four cases of five; where nothing is known, its limit; Never: nobody can say
	Known  bool    // Until is expected, and not only where a limit ends it
	Runs   bool    // already
}

// Course returns what becomes of the GPUs until far, if nothing new comes and every job runs for
// as long as expected, and until when that is known. It makes the passes while they are asked for,
// and reports whether that was to the end.
func (f *Forecast) Course(asked func() bool, far time.Duration) (stays []Stay, until Instant, done bool) {
	if f.course == nil {
		f.course = newCourse(f, far)
	}
	c := f.course
	for !c.over {
		if !asked() {
			return nil, 0, false
		}
		c.nextPass()
	}
	if !c.enough() && c.passes == c.most {
		c.course.far = min(c.course.far, c.machine.Now)
	}
	return c.finished(), c.course.far, true
}

// Waiting lists the waiting jobs that the forecast is of, in order.
func (f *Forecast) Waiting() []job.ID {
	list := make([]job.ID, len(f.waiting))
	for i := range f.waiting {
		list[i] = f.waiting[i].ID
	}
	return list
}

func newCourse(of *Forecast, far time.Duration) *future {
	f := newFuture(of, sampling{1, 2}, maxPasses, &course{far: of.s.Now.Add(far), open: map[job.ID]int{}})
	for i := range f.machine.Running {
		f.beginStay(f.machine.Running[i].ID, i, true)
	}
	return f
}

// stay begins the stay of a job that runs, by its place among these.
func (f *future) beginStay(id job.ID, at int, runs bool) {
	c := f.course
	if c == nil || len(f.machine.Running[at].Grants) == 0 {
		return
	}
	if len(c.stays) == maxStays {
		c.far = min(c.far, f.machine.Now)
		return
	}
	r, x := &f.machine.Running[at], &f.running[at]
	s := Stay{Job: id, Grants: r.Grants, From: r.Start, Until: x.ends, Late: x.ends, Runs: runs}
	if s.Known = r.Stopping || x.estimate == nil || x.estimate.Known; s.Known && !r.Stopping && x.estimate != nil {
		ran := r.Served + r.ran(f.machine.Now)
		late := f.machine.Now.Add(x.estimate.Late(ran) - ran).Add(time.Duration(max(r.Still, f.machine.Now) - f.machine.Now))
		s.Late = max(s.Until, min(late, x.limit))
	}
	c.open[r.ID] = len(c.stays)
	c.stays = append(c.stays, s)
}

// leave ends the stay of a job.
func (f *future) endStay(id job.ID) {
	if f.course == nil {
		return
	}
	if at, ok := f.course.open[id]; ok {
		s := &f.course.stays[at]
		if s.Until != f.machine.Now { // it makes room
			s.Until, s.Late, s.Known = f.machine.Now, f.machine.Now, true
		}
		delete(f.course.open, id)
	}
}

// closed are the stays, those that go on with the ends that are foreseen.
func (f *future) finished() []Stay {
	for i := range f.machine.Running {
		if at, ok := f.course.open[f.machine.Running[i].ID]; ok && f.running[i].requeues {
			f.course.stays[at].Until, f.course.stays[at].Late = f.running[i].ends, f.running[i].ends
		}
	}
	return f.course.stays
}

// enough reports whether more passes would tell nothing that is asked for.
func (f *future) enough() bool {
	if f.course == nil {
		return len(f.wanted) == 0
	}
	return f.queue.Len() == 0 || f.machine.Now >= f.course.far
}

// farthest is how far ahead a future goes.
func (f *future) farthest() Instant {
	switch {
	case f.course != nil:
		return f.course.far
	case f.until > 0:
		return f.until
	}
	return f.begun.Add(farthest)
}
