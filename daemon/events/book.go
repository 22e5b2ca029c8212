package events

import (
	"cmp"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// A Book turns records into events, by comparing them with earlier records.
type Book struct {
	jobs    map[job.ID]*mark // last mark of each job; a mark is never modified
	waits   *mark            // mark that most jobs of a long queue have in common
	faults  map[string]bool  // by GPU: whether the GPU is out of service
	indexes map[string]int   // index of each GPU seen so far
	drained bool
}

// A mark is the state of a job that the book announced last.
type mark struct {
	state     job.State
	attempt   int
	held      bool
	suspended bool
	parked    bool
}

func markOf(j *job.Job) mark {
	m := mark{state: j.State, held: j.Held != "", suspended: j.IsSuspended() && j.Park == job.NotParked,
		parked: j.Park == job.IsParked || j.Park == job.ParkGives}
	if j.Attempt != nil {
		m.attempt = j.Attempt.Number
	}
	return m
}

// NewBook returns a book that knows the records with which the daemon starts.
func NewBook(r *job.Restored) *Book {
	b := &Book{
		jobs: map[job.ID]*mark{}, waits: &mark{state: job.Queued},
		faults: map[string]bool{}, indexes: map[string]int{},
	}
	for i := range r.Jobs {
		b.put(r.Jobs[i].ID, markOf(&r.Jobs[i]))
	}
	for i := range r.GPUs {
		b.control(&r.GPUs[i])
	}
	return b
}

// put stores the mark of a job.
func (b *Book) put(id job.ID, m mark) {
	if b.jobs[id] = b.waits; m != *b.waits {
		b.jobs[id] = &m
	}
}

// Record returns the events of a record. The events have no numbers yet.
func (b *Book) Record(r *job.Record, at time.Time) (list []job.Event) {
	switch {
	case r.Job != nil:
		list = b.job(r)
	case r.GPU != nil:
		list = b.control(r.GPU)
	case r.Reservation != nil:
		v := r.Reservation
		list = []job.Event{{Kind: job.EventReservation, Reservation: v.ID, On: new(true), By: v.By, Why: job.Text(v.Reason)}}
	case r.Unreserve != 0:
		list = []job.Event{{Kind: job.EventReservation, Reservation: r.Unreserve, On: new(false)}}
	}
	for i := range list {
		list[i].At = at
	}
	return list
}

// News completes an event that comes from no record.
func (b *Book) News(e job.Event, at time.Time) job.Event {
	if e.GPU != nil {
		b.indexes[e.GPU.UUID] = e.GPU.Index
	}
	e.At = at
	return e
}

// job returns the events of a job's record. One step may have taken the job through several states.
// The important states on the way are announced too.
func (b *Book) job(r *job.Record) (list []job.Event) {
	j := r.Job
	now, was := markOf(j), mark{}
	if last := b.jobs[j.ID]; last != nil {
		was = *last
	}
	announce := func(kind job.EventKind, state job.State) { list = append(list, eventOf(j, kind, state)) }
	if was.state == "" {
		announce(job.EventQueued, job.Queued)
		was = mark{state: job.Queued, held: now.held && now.state == job.Queued}
	}
	if now.state == job.Queued && was.state == job.Queued && now.attempt > was.attempt {
		announce(job.EventPlaced, job.Starting) // the job is already back in the queue
		was.state, was.attempt = job.Starting, now.attempt
	}
	if now.state != was.state || now.attempt != was.attempt && now.state != job.Queued {
		if was.state.Live() && now.attempt > was.attempt {
			announce(job.EventRequeued, job.Queued)
		}
		announce(kinds[now.state], now.state)
	}
	switch {
	case now.state.Terminal():
	case r.Updated != nil:
		announce(job.EventUpdated, now.state)
		e := &list[len(list)-1]
		e.By = r.Updated.By
		for _, edit := range r.Updated.Edits {
			switch edit.Name {
			case job.EditMem:
				e.Why = job.Say("detail/mem", cmp.Or(edit.Before, "none"), cmp.Or(edit.Now, "none"))
			case job.EditLent:
				e.Why = job.Say("detail/mem-lent", edit.Before, edit.Now)
			}
		}
	}
	if !now.state.Terminal() {
		announceIf(now.held, was.held, job.EventHeld, job.EventReleased, now.state, announce)
		announceIf(now.suspended, was.suspended, job.EventSuspended, job.EventResumed, now.state, announce)
		announceIf(now.parked, was.parked, job.EventParked, job.EventUnparked, now.state, announce)
		b.put(j.ID, now)
		return list
	}
	delete(b.jobs, j.ID)
	return list
}

// announceIf announces a condition that has begun or ended: prev says whether it applied before, and
// cur whether it applies now.
func announceIf(cur, prev bool, begin, end job.EventKind, state job.State, announce func(job.EventKind, job.State)) {
	switch {
	case cur && !prev:
		announce(begin, state)
	case prev && !cur:
		announce(end, state)
	}
}

// kinds has the event that announces each state that a job enters.
var kinds = map[job.State]job.EventKind{
	job.Queued: job.EventRequeued, job.Spawned: job.EventSpawned, job.Starting: job.EventPlaced,
	job.Running: job.EventStarted, job.Ending: job.EventEnding,
	job.Completed: job.EventEnded, job.Failed: job.EventEnded, job.Cancelled: job.EventEnded,
	job.TimedOut: job.EventEnded, job.OutOfMemory: job.EventEnded, job.GPUOutOfMemory: job.EventEnded,
	job.Lost: job.EventEnded,
}

func eventOf(j *job.Job, kind job.EventKind, state job.State) job.Event {
	e := job.Event{
		Kind: kind, Job: j.ID, Called: j.Called(), Name: j.Label.Name,
		User: j.Owner.User, UID: new(j.Owner.UID), State: state,
	}
	if j.Attempt != nil && kind != job.EventQueued {
		e.Attempt, e.GPUs = j.Attempt.Number, j.GPUIndexes()
	}
	switch kind {
	case job.EventQueued:
		e.By = j.Held
	case job.EventHeld:
		e.By = j.Held
	case job.EventSuspended, job.EventParked:
		e.By = j.SuspendedBy
	case job.EventEnding:
		e.Stop, e.By = j.Stop, j.StopBy
	case job.EventEnded:
		e.Result = &job.ShownResult{Result: *j.Result}
	case job.EventRequeued:
		if j.Attempt != nil && j.Attempt.Result != nil {
			e.Result = &job.ShownResult{Result: *j.Attempt.Result}
		}
	}
	return e
}

// control returns the events of a record about a GPU. A pause of one GPU needs no event here,
// because the GPU's state shows it.
func (b *Book) control(g *job.GPUControl) []job.Event {
	if g.UUID == job.EveryGPU {
		if g.Closes() == b.drained {
			return nil
		}
		b.drained = g.Closes()
		return []job.Event{{Kind: job.EventDrain, On: new(b.drained), By: g.By, Why: job.Text(g.Reason)}}
	}
	f := &g.Fault
	what, hit := f.What, f.Job
	sick := gpu.Recovery(f.Recovery).Sick()
	if !sick {
		what, hit = f.Left.What, f.Left.Job
	}
	out := sick || !f.Left.What.IsZero()
	was := b.faults[g.UUID]
	b.faults[g.UUID] = out
	if was || !out {
		return nil
	}
	index, known := b.indexes[g.UUID]
	if !known {
		index = -1
	}
	return []job.Event{{Kind: job.EventFault, Job: hit, GPU: &job.GPUNews{Index: index, UUID: g.UUID}, Why: what}}
}
