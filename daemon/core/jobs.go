package core

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// jobBook has the jobs that have not ended, and counts them.
type jobBook struct {
	byID      map[job.ID]*trackedJob
	placed    map[job.ID]*trackedJob   // those that have a unit or may have one
	ids       []job.ID                 // scratch
	ofArray   map[job.ID][]*trackedJob // the live tasks of each
	walked    int                      // how many jobs have been looked at, see commands
	nextID    job.ID
	timed     timers // queued ones that wait for a time
	queued    int
	perUser   map[int]int                // queued jobs by person
	perClass  map[job.Class]int          // queued jobs by class
	bytes     map[int]int64              // what the jobs of a person weigh
	throttles map[job.ID]*sched.Throttle // of arrays with a limit
	ended     map[job.State]int          // how many have, since the daemon's start
}

func newJobBook(next job.ID) jobBook {
	return jobBook{
		byID:   map[job.ID]*trackedJob{},
		placed: map[job.ID]*trackedJob{}, nextID: max(next, 1), timed: newTimers(),
		perUser: map[int]int{}, perClass: map[job.Class]int{}, bytes: map[int]int64{}, ended: map[job.State]int{},
		throttles: map[job.ID]*sched.Throttle{},
		ofArray:   map[job.ID][]*trackedJob{},
	}
}

// get returns a job that has not ended; nil: there is none.
func (b *jobBook) get(id job.ID) *trackedJob {
	b.walked++
	return b.byID[id]
}

// all yields the jobs in no order.
func (b *jobBook) all() iter.Seq2[job.ID, *trackedJob] {
	b.walked += len(b.byID)
	return maps.All(b.byID)
}

// sorted returns the jobs for which may is true, by id.
func (b *jobBook) sorted(may func(*trackedJob) bool) (list []*trackedJob) {
	for _, l := range b.byID {
		if may(l) {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(x, y *trackedJob) int { return cmp.Compare(x.id, y.id) })
	return list
}

// anyJob is for sorted.
func anyJob(*trackedJob) bool { return true }

// active returns a job that has a unit or may have one; nil: there is none.
func (b *jobBook) active(id job.ID) *trackedJob { return b.placed[id] }

func (b *jobBook) allActive() iter.Seq2[job.ID, *trackedJob] { return maps.All(b.placed) }

// next is the id of the next new job, until it is claimed.
func (b *jobBook) next() job.ID { return b.nextID }

// claim keeps new jobs from having an id or a lower one.
func (b *jobBook) claim(id job.ID) { b.nextID = max(b.nextID, id+1) }

// add makes a job known.
func (b *jobBook) add(l *trackedJob) {
	b.byID[l.id] = l
	if t := l.job.Task; t != nil {
		b.ofArray[t.Array] = append(b.ofArray[t.Array], l)
	}
	b.addBytes(l)
}

// remove forgets a job that has ended.
func (b *jobBook) remove(l *trackedJob) {
	b.removeBytes(l)
	delete(b.byID, l.id)
	if t := l.job.Task; t != nil {
		left := slices.DeleteFunc(b.ofArray[t.Array], func(o *trackedJob) bool { return o == l })
		if b.ofArray[t.Array] = left; len(left) == 0 {
			delete(b.ofArray, t.Array)
		}
	}
}

// sort puts a job among those that have a unit, or takes it from them, by its state.
func (b *jobBook) sort(l *trackedJob) {
	if l.job.State.Live() {
		b.placed[l.job.ID] = l
	} else {
		delete(b.placed, l.job.ID)
	}
}

// activeIDs returns the ids of the jobs that have a unit or may have one, in
// order, valid until the next call.
func (b *jobBook) activeIDs() []job.ID {
	b.ids = b.ids[:0]
	for id := range b.placed {
		b.ids = append(b.ids, id)
	}
	slices.Sort(b.ids)
	return b.ids
}

// count is how many jobs have not ended.
func (b *jobBook) count() int { return len(b.byID) }

// activeCount is how many jobs have a unit or may have one.
func (b *jobBook) activeCount() int { return len(b.placed) }

// counts returns how many jobs are in each state that is not an end.
func (b *jobBook) counts() map[job.State]int {
	counts := map[job.State]int{}
	if b.queued > 0 {
		counts[job.Queued] = b.queued
	}
	if n := len(b.byID) - b.queued - len(b.placed); n > 0 {
		counts[job.Spawned] = n
	}
	for _, l := range b.placed {
		counts[l.seen().State]++
	}
	return counts
}

// countEnd counts a job that has ended.
func (b *jobBook) countEnd(how job.State) { b.ended[how]++ }

// totals sum up what there was and is.
func (b *jobBook) totals() *job.Totals {
	t := &job.Totals{Submitted: int(b.nextID - 1), Ended: maps.Clone(b.ended)}
	t.Queued, t.Active = maps.Clone(b.perClass), map[job.Class]int{}
	for _, l := range b.placed {
		t.Active[l.job.Request.Priority.Class]++
	}
	return t
}

// called is what people call a job, by its id where it has ended.
func (b *jobBook) called(id job.ID) string {
	if l := b.byID[id]; l != nil {
		return l.job.Called()
	}
	return id.String()
}

// tasks returns the live tasks of an array, by id.
func (b *jobBook) tasks(array job.ID) []*trackedJob {
	list := slices.Clone(b.ofArray[array])
	slices.SortFunc(list, func(x, y *trackedJob) int { return cmp.Compare(x.job.ID, y.job.ID) })
	return list
}

// walk counts jobs that are looked at, hasWalked is how many there were.
func (b *jobBook) walk(n int)     { b.walked += n }
func (b *jobBook) hasWalked() int { return b.walked }

// liveTasks yields the live tasks of an array in no order.
func (b *jobBook) liveTasks(array job.ID) iter.Seq[*trackedJob] {
	list := b.ofArray[array]
	b.walked += len(list)
	return slices.Values(list)
}

// throttle returns what bounds the tasks of an array that run; nil where nothing does.
func (b *jobBook) throttle(array job.ID, limit int) *sched.Throttle {
	if limit <= 0 {
		return nil
	}
	if b.throttles[array] == nil {
		b.throttles[array] = &sched.Throttle{Left: limit}
	}
	return b.throttles[array]
}

func (b *jobBook) dropThrottle(array job.ID) { delete(b.throttles, array) }

// enterQueue counts a job among the queued ones.
func (b *jobBook) enterQueue(l *trackedJob) {
	b.queued++
	b.perUser[l.job.Person().UID]++
	b.perClass[l.job.Request.Priority.Class]++
}

// leaveQueue undoes enterQueue.
func (b *jobBook) leaveQueue(l *trackedJob) {
	b.timed.remove(l.job.ID)
	b.queued--
	uid := l.job.Person().UID
	if b.perUser[uid]--; b.perUser[uid] == 0 {
		delete(b.perUser, uid)
	}
	b.leaveClass(l.job.Request.Priority.Class)
}

func (b *jobBook) leaveClass(class job.Class) {
	if b.perClass[class]--; b.perClass[class] == 0 {
		delete(b.perClass, class)
	}
}

// changeClass counts a queued job, which enterQueue counted, in another class.
func (b *jobBook) changeClass(l *trackedJob, class job.Class) {
	b.leaveClass(l.job.Request.Priority.Class)
	b.perClass[class]++
}

// queuedCount is how many jobs are queued, queuedOf how many of a person are.
func (b *jobBook) queuedCount() int                    { return b.queued }
func (b *jobBook) queuedOf(uid int) int                { return b.perUser[uid] }
func (b *jobBook) queuedByPerson() iter.Seq2[int, int] { return maps.All(b.perUser) }

// The timers of queued jobs that wait for a time.
func (b *jobBook) setTimer(id job.ID, at time.Time) { b.timed.set(id, at) }
func (b *jobBook) stopTimer(id job.ID)              { b.timed.remove(id) }
func (b *jobBook) hasTimer(id job.ID) bool          { return b.timed.has(id) }
func (b *jobBook) nextTimer() timer                 { return b.timed.first() }
func (b *jobBook) clearTimers()                     { b.timed = newTimers() }

// holds reports whether the job holds a part of the GPU.
func (b *jobBook) holds(id job.ID, uuid string) bool {
	l := b.placed[id]
	return l != nil && slices.ContainsFunc(l.job.Attempt.GPUs, func(r job.Allocation) bool { return r.UUID == uuid })
}

// held reports whether any job holds a part of the GPU.
func (b *jobBook) held(uuid string) bool {
	for id := range b.placed {
		if b.holds(id, uuid) {
			return true
		}
	}
	return false
}

// shareHeld is how much of the GPU jobs hold.
func (b *jobBook) shareHeld(uuid string) (milli int) {
	for _, l := range b.placed {
		for _, r := range l.job.Attempt.GPUs {
			if r.UUID == uuid {
				milli += r.Share()
			}
		}
	}
	return milli
}
