package tracked

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Book contains the jobs that have not ended, and counts them.
type Book struct {
	Lanes Lanes

	byID     map[job.ID]*Job
	placed   map[job.ID]*Job   // jobs that have a unit or may have one
	live     []*Job            // the jobs in placed, by id; the slice is replaced, never changed
	ofArray  map[job.ID][]*Job // the live tasks of each array
	walked   int               // how many jobs were looked at, see Core.commands
	nextID   job.ID
	timed    timers // queued jobs that wait for a time
	queued   int
	perUser  map[int]int       // the number of queued jobs of each person
	perClass map[job.Class]int // the number of queued jobs of each class
	bytes    map[int]int64     // the total weight of each person's jobs
	ended    map[job.State]int // how many jobs have ended since the daemon's start
}

func NewBook(next job.ID) Book {
	return Book{
		byID:   map[job.ID]*Job{},
		placed: map[job.ID]*Job{}, nextID: max(next, 1), timed: newTimers(),
		perUser: map[int]int{}, perClass: map[job.Class]int{}, bytes: map[int]int64{}, ended: map[job.State]int{},
		Lanes:   Lanes{inUse: map[laneKey]*lane{}},
		ofArray: map[job.ID][]*Job{},
	}
}

// Get returns a job that has not ended, or nil.
func (b *Book) Get(id job.ID) *Job {
	b.walked++
	return b.byID[id]
}

// All yields the jobs in no order.
func (b *Book) All() iter.Seq2[job.ID, *Job] {
	b.walked += len(b.byID)
	return maps.All(b.byID)
}

// Sorted calls the function may for each job. It returns, by id, the jobs for which this function
// returned true.
func (b *Book) Sorted(may func(*Job) bool) (list []*Job) {
	for _, l := range b.byID {
		if may(l) {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(x, y *Job) int { return cmp.Compare(x.ID, y.ID) })
	return list
}

// AnyJob makes Sorted return all jobs.
func AnyJob(*Job) bool { return true }

// Active returns a job if it has a unit or may have one, or else nil.
func (b *Book) Active(id job.ID) *Job { return b.placed[id] }

// Next returns the id of the next new job. The id is not claimed yet.
func (b *Book) Next() job.ID { return b.nextID }

// Claim makes sure that new jobs get higher ids than the given one.
func (b *Book) Claim(id job.ID) { b.nextID = max(b.nextID, id+1) }

// Add adds a job.
func (b *Book) Add(l *Job) {
	b.byID[l.ID] = l
	if t := l.Task; t != nil {
		b.ofArray[t.Array] = append(b.ofArray[t.Array], l)
	}
	b.AddBytes(l)
}

// Remove removes a job that has ended.
func (b *Book) Remove(l *Job) {
	b.RemoveBytes(l)
	b.Lanes.Leave(l)
	delete(b.byID, l.ID)
	if t := l.Task; t != nil {
		left := slices.DeleteFunc(b.ofArray[t.Array], func(o *Job) bool { return o == l })
		if b.ofArray[t.Array] = left; len(left) == 0 {
			delete(b.ofArray, t.Array)
		}
	}
}

// Sort updates the list of jobs that have a unit. It adds the job to the list or removes it,
// according to the job's state.
func (b *Book) Sort(l *Job) {
	byID := func(o *Job, id job.ID) int { return cmp.Compare(o.ID, id) }
	at, is := slices.BinarySearchFunc(b.live, l.ID, byID)
	switch {
	case !l.State.Live():
		delete(b.placed, l.ID)
		if is {
			b.live = slices.Delete(slices.Clone(b.live), at, at+1)
		}
	case !is:
		b.live = slices.Insert(slices.Clone(b.live), at, l)
		b.placed[l.ID] = l
	}
}

// Live yields the jobs that have a unit or may have one, by id. It leaves out jobs that lose their
// unit during the iteration.
func (b *Book) Live() iter.Seq[*Job] {
	list := b.live
	return func(yield func(*Job) bool) {
		for _, l := range list {
			if b.placed[l.ID] == l && !yield(l) {
				return
			}
		}
	}
}

// Count returns the number of jobs that have not ended.
func (b *Book) Count() int { return len(b.byID) }

// ActiveCount returns the number of jobs that have a unit or may have one.
func (b *Book) ActiveCount() int { return len(b.placed) }

// Counts returns the number of jobs in each state that is not final.
func (b *Book) Counts() map[job.State]int {
	counts := map[job.State]int{}
	if b.queued > 0 {
		counts[job.Queued] = b.queued
	}
	if n := len(b.byID) - b.queued - len(b.placed); n > 0 {
		counts[job.Spawned] = n
	}
	for _, l := range b.placed {
		counts[l.Seen().State]++
	}
	return counts
}

// CountEnd counts a job that has ended.
func (b *Book) CountEnd(how job.State) { b.ended[how]++ }

// Totals returns the sums over all jobs, those that have ended and those that have not.
func (b *Book) Totals() *job.Totals {
	t := &job.Totals{Submitted: int(b.nextID - 1), Ended: maps.Clone(b.ended), Classes: map[job.Class]job.ClassTotals{}}
	for class, n := range b.perClass {
		if n > 0 {
			t.Classes[class] = job.ClassTotals{Queued: n}
		}
	}
	for _, l := range b.placed {
		n := t.Classes[l.Request.Priority.Class]
		n.Active++
		t.Classes[l.Request.Priority.Class] = n
	}
	return t
}

// Called returns a job's name for people, or its id if the job has ended.
func (b *Book) Called(id job.ID) string {
	if l := b.byID[id]; l != nil {
		return l.Called()
	}
	return id.String()
}

// Tasks returns the live tasks of an array, by id.
func (b *Book) Tasks(array job.ID) []*Job {
	list := slices.Clone(b.ofArray[array])
	slices.SortFunc(list, func(x, y *Job) int { return cmp.Compare(x.ID, y.ID) })
	return list
}

// Walk adds n to the number of jobs that were looked at. HasWalked returns that number.
func (b *Book) Walk(n int)     { b.walked += n }
func (b *Book) HasWalked() int { return b.walked }

// LiveTasks yields the live tasks of an array in no order.
func (b *Book) LiveTasks(array job.ID) iter.Seq[*Job] {
	list := b.ofArray[array]
	b.walked += len(list)
	return slices.Values(list)
}

// EnterQueue counts a job as queued.
func (b *Book) EnterQueue(l *Job) {
	b.queued++
	b.perUser[l.Person().UID]++
	b.perClass[l.Request.Priority.Class]++
}

// LeaveQueue undoes EnterQueue.
func (b *Book) LeaveQueue(l *Job) {
	b.timed.remove(l.ID)
	b.queued--
	uid := l.Person().UID
	if b.perUser[uid]--; b.perUser[uid] == 0 {
		delete(b.perUser, uid)
	}
	b.leaveClass(l.Request.Priority.Class)
}

func (b *Book) leaveClass(class job.Class) {
	if b.perClass[class]--; b.perClass[class] == 0 {
		delete(b.perClass, class)
	}
}

// ChangeClass moves a queued job to another class in the counts.
func (b *Book) ChangeClass(l *Job, class job.Class) {
	b.leaveClass(l.Request.Priority.Class)
	b.perClass[class]++
}

// QueuedCount returns the number of all queued jobs. QueuedOf returns one person's number, and
// QueuedByPerson yields that of each person.
func (b *Book) QueuedCount() int                    { return b.queued }
func (b *Book) QueuedOf(uid int) int                { return b.perUser[uid] }
func (b *Book) QueuedByPerson() iter.Seq2[int, int] { return maps.All(b.perUser) }

// SetTimer and the next methods manage the timers of queued jobs that wait for a time.
func (b *Book) SetTimer(id job.ID, at time.Time) { b.timed.set(id, at) }
func (b *Book) StopTimer(id job.ID)              { b.timed.remove(id) }
func (b *Book) HasTimer(id job.ID) bool          { return b.timed.has(id) }
func (b *Book) NextTimer() timer                 { return b.timed.next() }
func (b *Book) ClearTimers()                     { b.timed = newTimers() }

// Holds reports whether the job holds a part of the GPU.
func (b *Book) Holds(id job.ID, uuid string) bool {
	l := b.placed[id]
	return l != nil && slices.ContainsFunc(l.HeldGPUs(), func(r job.Allocation) bool { return r.UUID == uuid })
}

// Held reports whether any job holds a part of the GPU.
func (b *Book) Held(uuid string) bool {
	for id := range b.placed {
		if b.Holds(id, uuid) {
			return true
		}
	}
	return false
}

// Awaited reports whether a parked job is to get a part of the GPU back.
func (b *Book) Awaited(uuid string) bool {
	on := func(r job.Allocation) bool { return r.UUID == uuid }
	for id, l := range b.placed {
		if b.IsParked(id) && slices.ContainsFunc(l.Attempt.GPUs, on) {
			return true
		}
	}
	return false
}

// IsParked reports whether the job is parked.
func (b *Book) IsParked(id job.ID) bool {
	l := b.placed[id]
	return l != nil && l.Park == job.IsParked
}

// Keeps reports whether a parked job that uses the GPU never stopped doing so. That is not so if
// another job has got the whole GPU since, for which it had to be clean.
func (b *Book) Keeps(id job.ID, uuid string) bool {
	return b.IsParked(id) && slices.ContainsFunc(b.placed[id].Attempt.GPUs, func(r job.Allocation) bool {
		return r.UUID == uuid && (r.Share() < job.WholeGPU || !b.Held(uuid))
	})
}

// ShareHeld returns how much of the GPU jobs hold, in thousandths.
func (b *Book) ShareHeld(uuid string) (milli int) {
	for _, l := range b.placed {
		for _, r := range l.HeldGPUs() {
			if r.UUID == uuid {
				milli += r.Share()
			}
		}
	}
	return milli
}

// AddBytes adds a job's weight to its person's bytes.
func (b *Book) AddBytes(l *Job) {
	l.Weighed = l.Weight()
	b.bytes[l.Person().UID] += l.Weighed
}

// RemoveBytes undoes AddBytes.
func (b *Book) RemoveBytes(l *Job) {
	uid := l.Person().UID
	if b.bytes[uid] -= l.Weighed; b.bytes[uid] == 0 {
		delete(b.bytes, uid)
	}
}

// TaskStates counts the live tasks of an array by state.
func (b *Book) TaskStates(array job.ID) (s job.LiveTasks) {
	for _, t := range b.Tasks(array) {
		switch index := t.Task.Index; {
		case t.Shown() != job.Queued:
			s.Running = append(s.Running, index)
		default:
			s.Waiting = append(s.Waiting, index)
			if t.Held != "" {
				s.Held++
			}
		}
	}
	return s
}

// Unstarted yields the waiting jobs that could not be started, in no order.
func (b *Book) Unstarted() iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		for _, l := range b.byID {
			failed := l.State == job.Queued && TriesOf(l.Job) > 0 || l.State == job.Starting && l.Tries > 0
			if failed && !yield(l) {
				return
			}
		}
	}
}

// AnyUnstarted reports whether Unstarted yields any job.
func (b *Book) AnyUnstarted() bool {
	for range b.Unstarted() {
		return true
	}
	return false
}

// ChargedOfParts returns, by the UUID of each shared GPU, the sum of the charges of the jobs on it.
func (b *Book) ChargedOfParts() map[string]int {
	sums := map[string]int{}
	for _, l := range b.placed {
		for _, g := range l.HeldGPUs() {
			if g.Milli > 0 {
				sums[g.UUID] += max(g.ChargeMilli, g.Share())
			}
		}
	}
	return sums
}

// NameReasons adds the jobs' names for people, such as 7_3, to reasons that mention jobs. It does so
// only if one of these jobs is a task.
func (b *Book) NameReasons(why []job.Reason) []job.Reason {
	for i := range why {
		r, tasks := &why[i], false
		if r.Job == 0 {
			continue
		}
		var names []string
		for _, id := range append([]job.ID{r.Job}, r.Others...) {
			name := b.Called(id)
			names, tasks = append(names, name), tasks || name != id.String()
		}
		if tasks {
			r.Names = names
		}
	}
	return why
}

// BytesQuota refuses a new job, or a change of a job, if the jobs of its person would then take too
// much of the state file and of memory. The argument oldBytes is the job's weight before the
// change. A change that makes a job lighter is never refused.
func (b *Book) BytesQuota(j *job.Job, oldBytes, most int64) *job.Refusal {
	have, weight := b.bytes[j.Person().UID], j.Weight()
	if most == 0 || weight <= oldBytes || have-oldBytes+weight <= most {
		return nil
	}
	return job.Refuse("policy/bytes", job.Size(have), job.Size(weight-oldBytes), job.Size(most))
}

// Attempt finds the live job for an answer about one of its attempts. If the argument number is not
// that of the job's current attempt, the answer is late, and Attempt returns nil.
func (b *Book) Attempt(id job.ID, number int) *Job {
	l := b.Active(id)
	if l == nil || l.Attempt.Number != number {
		return nil
	}
	return l
}

// Reached returns the jobs that get a signal for l. If l is an array, these are its running tasks.
// If not, the result is l alone.
func (b *Book) Reached(l *Job, who job.Actor) (ids []job.ID) {
	for _, r := range append(b.Tasks(l.ID), l) {
		if r.State == job.Running && who.MayControl(r.Job) { // another account may have the owner's number now
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// IsOthers reports whether a live job belongs to an account other than o, which had the same number
// before.
func (b *Book) IsOthers(id job.ID, o *job.Owner) bool {
	l := b.Get(id)
	return l != nil && !l.Owner.Is(o.UID, o.User)
}
