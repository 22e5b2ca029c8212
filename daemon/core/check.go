package core

import (
	"fmt"
	"maps"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// breach notes that an invariant of the package, by its number, does not hold.
type breach func(invariant int, format string, args ...any)

// Check verifies invariants 1 to 4 and 11 of the package and returns every breach
// with the number. Tests call it after each step.
func (c *Core) Check() error {
	var p job.Problems
	breach := func(invariant int, format string, args ...any) {
		p = append(p, job.Text(fmt.Sprintf("invariant %d: ", invariant)+fmt.Sprintf(format, args...)))
	}
	for id, l := range c.jobs.all() {
		c.checkJob(id, l, breach)
	}
	c.checkHeld(breach)
	c.starts.check(&c.jobs, breach)
	c.jobs.checkCounts(breach)
	c.jobs.checkThrottles(breach)
	c.jobs.checkPlaces(breach)
	c.checkQueue(breach)
	c.gpus.checkUnkillable(breach)
	c.deps.check(&c.jobs, breach)
	c.checkAccounts(breach)
	return p.Err()
}

// checkJob verifies that what is known of one job goes together.
func (c *Core) checkJob(id job.ID, l *trackedJob, breach breach) {
	j := l.job
	if j.ID != id || !j.State.Valid() || j.State.Terminal() {
		breach(1, "job %d is kept as %d in state %s", id, j.ID, j.State)
	}
	if j.Tasks != nil {
		c.checkArray(j, breach)
	}
	if j.Task != nil && c.jobs.get(j.Task.Array) == nil {
		breach(11, "job %d is a task of array %d, which has ended", id, j.Task.Array)
	}
	open := j.Attempt != nil && j.Attempt.EndedAt.IsZero()
	switch {
	case j.State == job.Spawned:
	case j.State == job.Queued:
		if free := mayStart(j); c.planning.Has(id) != (free && !c.jobs.hasTimer(id)) {
			breach(1, "job %d is in the queue: %t; held %q, too many failed: %t, waits for %d jobs, for a time %t", id, c.planning.Has(id), j.Held, j.TooManyFailed(), len(j.Pending), c.jobs.hasTimer(id))
		}
		if l.action != noAction {
			breach(3, "job %d is queued with an action under way", id)
		}
		if open {
			breach(4, "job %d is queued with an open attempt", id)
		}
	case !open:
		breach(4, "job %d is %s without an open attempt", id, j.State)
	}
}

// checkHeld verifies that jobs hold what they asked, and no GPU is given out twice.
func (c *Core) checkHeld(breach breach) {
	shares := map[string]int{}
	for id, l := range c.jobs.allActive() {
		j, sum := l.job, 0
		if j.Attempt == nil {
			continue // which checkJob tells
		}
		for _, r := range j.Attempt.GPUs {
			sum += r.Share()
			if shares[r.UUID] += r.Share(); shares[r.UUID] > job.WholeGPU {
				breach(2, "GPU %s is given out to %d milli, with job %d", r.UUID, shares[r.UUID], id)
			}
		}
		if sum != j.Request.GPUMilli || len(j.Attempt.GPUs) != j.Request.Devices() {
			breach(2, "job %d holds %d milli on %d GPUs and asked %d", id, sum, len(j.Attempt.GPUs), j.Request.GPUMilli)
		}
	}
}

// check verifies that the jobs that are started, or wait for that, are those that are noted as such, and
// counts them anew.
func (b *startBook) check(jobs *jobBook, breach breach) {
	placed, noted := 0, map[job.ID]pendingAction{}
	for _, w := range b.waiting {
		noted[w.l.id] = inLine
	}
	for _, s := range b.begun {
		noted[s.l.id] = starting
		if !s.slow {
			placed++
		}
	}
	for id, l := range jobs.all() {
		if is := l.action == inLine || l.action == starting; is && noted[id] != l.action || !is && noted[id] != noAction {
			breach(11, "job %d is noted with start %d, and has action %d", id, noted[id], l.action)
		}
		delete(noted, id)
	}
	if len(noted) > 0 || placed != b.placed {
		breach(11, "%d places are taken, counted are %d, of jobs that have ended %v", placed, b.placed, noted)
	}
}

// checkCounts counts the queued jobs and what jobs weigh anew, by person.
func (b *jobBook) checkCounts(breach breach) {
	queued, bytes, perUser, perClass := 0, map[int]int64{}, map[int]int{}, map[job.Class]int{}
	for _, l := range b.all() {
		j := l.job
		bytes[j.Person().UID] += j.Weight()
		if j.State == job.Queued {
			queued++
			perUser[j.Person().UID]++
			perClass[j.Request.Priority.Class]++
		}
	}
	if !maps.Equal(perClass, b.perClass) {
		breach(11, "%v jobs are counted as queued in each class, and %v are", b.perClass, perClass)
	}
	if queued != b.queued || !maps.Equal(perUser, b.perUser) {
		breach(11, "%d jobs are counted as queued, by user %v, and %d are, %v", b.queued, b.perUser, queued, perUser)
	}
	if !maps.Equal(bytes, b.bytes) {
		breach(11, "the jobs of each person weigh %v, counted are %v", bytes, b.bytes)
	}
}

// checkThrottles counts anew how many more tasks of each array may run.
func (b *jobBook) checkThrottles(breach breach) {
	left := map[job.ID]int{}
	for _, l := range b.all() {
		j, id := l.job, l.job.ID
		if j.Task != nil {
			id = j.Task.Array
		}
		switch {
		case l.throttle != b.throttles[id]:
			breach(11, "job %d is held back by another limit than array %d", j.ID, id)
		case j.Tasks != nil && j.Request.Array.Limit > 0:
			left[id] += j.Request.Array.Limit
		case j.Task != nil && j.State.Live() && l.throttle != nil:
			left[id]--
		}
	}
	is := map[job.ID]int{}
	for id, g := range b.throttles {
		is[id] = g.Left
	}
	if !maps.Equal(is, left) {
		breach(11, "so many more tasks of arrays may run: %v, counted are %v", left, is)
	}
}

// checkPlaces verifies that whatever lists jobs lists those that belong there.
func (b *jobBook) checkPlaces(breach breach) {
	timed, active := 0, 0
	for id, l := range b.all() {
		j := l.job
		if at, yes := b.timed.at[id]; yes {
			timed++
			if when := b.timed.heap[at]; when.id != id || !when.at.Equal(notBefore(j)) {
				breach(11, "job %d waits for %v, and its timer is that of job %d at %v", id, notBefore(j), when.id, when.at)
			}
		}
		if j.State.Live() != (b.placed[id] == l) {
			breach(11, "job %d is %s, and among those with a unit: %t", id, j.State, b.placed[id] != nil)
		}
		if j.State.Live() {
			active++
		}
	}
	if timed != len(b.timed.at) || timed != len(b.timed.heap) || active != len(b.placed) {
		breach(11, "of the timers, %d and %d, %d are of jobs that are known, of the %d jobs with a unit %d",
			len(b.timed.heap), len(b.timed.at), timed, len(b.placed), active)
	}
}

// checkUnkillable verifies that only jobs that do not end are noted as such.
func (b *gpuBook) checkUnkillable(breach breach) {
	for uuid, ids := range b.unkillableOn {
		for _, id := range ids {
			if l := b.jobs.active(id); l == nil || l.job.State != job.Ending || l.job.Left == "" {
				breach(11, "job %d is noted on GPU %s as one that does not end", id, uuid)
			}
		}
	}
}

// checkQueue verifies that the queue has no job but those that are known, and the
// starvation guard counts what its jobs hold.
func (c *Core) checkQueue(breach breach) {
	queue, guarded := 0, 0
	for id, l := range c.jobs.all() {
		if c.planning.Has(id) {
			queue++
		}
		if l.job.State.Live() && l.job.Guarded {
			guarded += l.job.Request.GPUMilli
		}
	}
	if queue != c.planning.Len() {
		breach(11, "the queue has %d jobs of which %d are known", c.planning.Len(), queue)
	}
	if guarded != c.starvation.held() {
		breach(11, "the lane counts %d milli, and its jobs hold %d", c.starvation.held(), guarded)
	}
}

// checkAccounts verifies for whom jobs count, and counts what each account runs anew.
func (c *Core) checkAccounts(breach breach) {
	for id, l := range c.jobs.all() {
		j := l.job
		if l.account != c.accounts.of(j.Owner, j.Principal) || l.weight != j.Weight() {
			breach(11, "job %d counts for %s with %d bytes, and weighs %d", id, accountKey(l.account), l.weight, j.Weight())
		}
	}
	type runs struct {
		jobs, milli, cpus int
		mem               int64
		rate              sched.Rate
	}
	want := map[*sched.Account]runs{}
	for _, l := range c.jobs.allActive() {
		for _, a := range l.accounts() {
			r, rate := want[a], rateOf(l.job)
			r.jobs, r.milli = r.jobs+1, r.milli+l.quotaMilli()
			r.cpus, r.mem = r.cpus+l.job.CPUs(), r.mem+l.job.Request.MemBytes
			r.rate.GPU, r.rate.Charge = r.rate.GPU+rate.GPU, r.rate.Charge+rate.Charge
			want[a] = r
		}
	}
	for _, a := range c.accounts.all() {
		mem, cpus := a.Promised()
		if is := (runs{a.Jobs, a.Milli, cpus, mem, a.Rate()}); is != want[a] {
			breach(11, "%s counts jobs, milli, CPUs, bytes and rates %v, and runs %v", accountKey(a), is, want[a])
		}
	}
}

// checkArray verifies the counts of an array.
func (c *Core) checkArray(j *job.Job, breach breach) {
	if live := len(c.jobs.tasks(j.ID)); live != j.Tasks.Live {
		breach(11, "array %d counts %d tasks and has %d", j.ID, j.Tasks.Live, live)
	}
	left := j.Tasks.Left(j.Request.Array.Size())
	if (left > 0) != (j.State == job.Queued) && j.Stop == "" {
		breach(11, "array %d is %s with %d tasks left", j.ID, j.State, left)
	}
	if _, dropped := j.Tasks.DroppedBy(j.Tasks.Next); dropped || j.Tasks.Passed(j.Tasks.Next) {
		breach(11, "array %d would start a task that was cancelled or is a job", j.ID)
	}
}
