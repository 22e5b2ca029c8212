package sched

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A course records which jobs use which GPUs in a future. It is recorded only for the future in
// which every job runs for as long as expected: a future with random run times would show one case
// of many.
type course struct {
	far   Instant // when the record ends
	stays []Stay
	open  map[job.ID]int // index of the stay of each running job
}

// maxStays limits the record: an array can have very many tasks.
const maxStays = 4096

// Stay is a job's time on its GPUs.
type Stay struct {
	Job    job.ID // the id of the array if the task has not become a job
	Grants []Grant
	From   Instant // the start of the attempt if the job runs already
	Until  Instant // Never: unknown
	Late   Instant // four jobs in five have ended by then; without an estimate, the time limit; Never: unknown
	Known  bool    // Until comes from an estimate or a request to stop, not only from a limit
	Runs   bool    // the job already runs
}

// Course predicts the use of the GPUs if no job is added and every job runs for as long as
// expected. The prediction covers the given period, and is valid up to the moment validUntil. As
// soon as goOn returns false, Course gives up, and finished is false.
func (f *Forecast) Course(goOn func() bool, period time.Duration) (stays []Stay, validUntil Instant, finished bool) {
	if f.course == nil {
		f.course = newCourse(f, period)
	}
	c := f.course
	for !c.over {
		if !goOn() {
			return nil, 0, false
		}
		c.nextPass()
	}
	if !c.isComplete() && c.passes == c.most {
		c.course.far = min(c.course.far, c.machine.Now)
	}
	return c.finishedStays(), c.course.far, true
}

// Waiting returns the waiting jobs that the forecast covers, in order.
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

// beginStay records that a job begins to run. The argument index is the job's position among the
// running jobs.
func (f *future) beginStay(id job.ID, index int, runs bool) {
	c := f.course
	if c == nil || len(f.machine.Running[index].Grants) == 0 {
		return
	}
	if len(c.stays) == maxStays {
		c.far = min(c.far, f.machine.Now)
		return
	}
	r, x := &f.machine.Running[index], &f.running[index]
	s := Stay{Job: id, Grants: r.Grants, From: r.sliceStart(), Until: x.ends, Late: x.ends, Runs: runs}
	if s.Known = r.Stopping || x.estimate == nil || x.estimate.Known; s.Known && !r.Stopping && x.estimate != nil {
		ran := r.Served + r.runTimeAt(f.machine.Now)
		late := f.machine.Now.Add(x.estimate.Late(ran) - ran).Add(time.Duration(max(r.Still, f.machine.Now) - f.machine.Now))
		s.Late = max(s.Until, min(late, x.limit))
	}
	c.open[r.ID] = len(c.stays)
	c.stays = append(c.stays, s)
}

// endStay records that a job has ended.
func (f *future) endStay(id job.ID) {
	if f.course == nil {
		return
	}
	if at, ok := f.course.open[id]; ok {
		s := &f.course.stays[at]
		if s.Until != f.machine.Now { // the job was preempted
			s.Until, s.Late, s.Known = f.machine.Now, f.machine.Now, true
		}
		delete(f.course.open, id)
	}
}

// finishedStays returns the stays. A stay that has not ended gets its expected end.
func (f *future) finishedStays() []Stay {
	for i := range f.machine.Running {
		if at, ok := f.course.open[f.machine.Running[i].ID]; ok && f.running[i].requeues {
			f.course.stays[at].Until, f.course.stays[at].Late = f.running[i].ends, f.running[i].ends
		}
	}
	return f.course.stays
}

// isComplete reports whether further passes would add nothing to the answer.
func (f *future) isComplete() bool {
	if f.course == nil {
		return len(f.wanted) == 0
	}
	return f.queue.Len() == 0 || f.machine.Now >= f.course.far
}

// lastMoment returns the moment at which the future ends.
func (f *future) lastMoment() Instant {
	switch {
	case f.course != nil:
		return f.course.far
	case f.until > 0:
		return f.until
	}
	return f.begun.Add(farthest)
}
