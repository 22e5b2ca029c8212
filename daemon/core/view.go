package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/foresight"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// maxExplained is the number of jobs at the head of the queue for which one listing explains what
// they lack. Without this bound, a listing of a hundred thousand jobs would delay everybody. Other
// reasons are cheap, and are always explained.
const maxExplained = 1000

// View returns the GPUs, and those of the query's jobs that have not ended.
func (c *state) View(q job.Query, now time.Time) job.View {
	v, ahead := c.ViewAndForesight(q, now)
	for i := range v.Jobs {
		ahead.Foretell(&v.Jobs[i])
	}
	return v
}

// ViewAndForesight is like View, but does not fill in the expected starts. Instead it returns a
// forecast from which the caller can fill them in. If the query does not ask for reasons, the
// forecast is nil.
func (c *state) ViewAndForesight(q job.Query, now time.Time) (job.View, *foresight.Foresight) {
	v := job.View{Counts: c.Counts(), Reservations: slices.Clone(c.gpus.Reservations.All())}
	c.gpus.Show(&v, now)
	v.Drained, v.Ends, v.Host = c.gpus.Closed(now), c.queue.PlannedEnd(), job.HostView{
		MemBytes: c.policy.HostMemBytes, CPUs: c.policy.HostCPUs, Places: c.policy.MaxRunning, Taken: c.jobs.ActiveCount(),
	}
	for l := range c.jobs.Live() {
		v.Host.PromisedMem += l.PromisedMem()
		v.Host.ParkedMem += l.ParkBytes
		v.Host.PromisedCPUs += l.CPUs()
	}
	list, beyond := c.selectJobs(&q, now)
	v.Omitted = beyond
	if q.Totals {
		v.Totals = c.jobs.Totals()
	}
	var ahead *foresight.Foresight
	if q.Reasons && slices.ContainsFunc(list, func(l *tracked.Job) bool { return c.waiter(l) != nil }) {
		ahead = c.Foresee(now)
		c.queue.FindPlacements(now)
	}
	v.Jobs = make([]job.JobView, 0, len(list)) // rows are large, and there may be a hundred thousand of them
	inQueue := 0
	for _, l := range list {
		jv, has, w := c.show(l, now), c.queue.Has(l.ID), c.waiter(l)
		again := w != nil && w != l // if so, w is a requeued task whose reasons also explain its array
		if has || again {
			inQueue++
		}
		switch {
		case has:
			jv.Expected = c.queue.Expected(l.ID) // computing the estimate again would be expensive for many jobs
		case l.State == job.Queued:
			jv.Expected = c.estimates.ExpectedRun(l)
		}
		if q.IDs != nil {
			jv.MemKnown = c.estimates.Memory(l.Kind())
			if !c.estimates.Of(l).Known {
				jv.Expected = 0 // the run time is unknown, so this is only the planner's default
			}
		}
		if q.Reasons && w != nil && (inQueue <= maxExplained || !has && !again) {
			jv.Reasons = c.explain(w)
		}
		v.Jobs = append(v.Jobs, jv)
	}
	return v, ahead
}

// Names is like View, but returns only the names of the jobs.
func (c *state) Names(q job.Query, now time.Time) []job.Name {
	list, _ := c.selectJobs(&q, now)
	if q.For != "" {
		list = slices.DeleteFunc(list, func(l *tracked.Job) bool { return !q.For.Takes(l.Seen()) })
	}
	if q.For == job.CommandCancel { // the last job first, so that no cancel starts a job of the list
		slices.Reverse(list)
		slices.SortStableFunc(list, func(x, y *tracked.Job) int { return y.State.ListRank() - x.State.ListRank() })
	}
	return job.Each(list, nameOf)
}

func nameOf(l *tracked.Job) job.Name { return job.Name{ID: l.ID, UID: l.Owner.UID, Task: l.Task} }

// show returns the view of a job, without its reasons.
func (c *state) show(l *tracked.Job, now time.Time) job.JobView {
	v := job.JobView{Job: *l.Seen(), EndsAt: c.endsAt(l, now), ResumesAt: c.queue.ResumesAt(l), Uses: l.UsesNow()}
	if t := l.Tasks; t != nil && t.Live > 0 {
		v.LiveTasks = c.jobs.TaskStates(l.ID)
	}
	return v
}

// selectJobs returns the jobs in three groups: first those with a unit, by id, then the queue in
// its order, then those that wait for something other than room, by id. A query by ids selects only
// the jobs with these ids. For a query that asks for the first waiting jobs, the result beyond is
// the number of waiting jobs that were left out.
func (c *state) selectJobs(q *job.Query, now time.Time) (list []*tracked.Job, beyond int) {
	lives := func(s job.State) bool { return !s.Terminal() }
	if q.IDs == nil && len(q.States) > 0 && !slices.ContainsFunc(q.States, lives) {
		return nil, 0 // the query wants only ended jobs, and the core has none
	}
	var queue []job.ID
	var running, rest []*tracked.Job
	switch {
	case q.IDs != nil:
		for _, id := range slices.Compact(slices.Sorted(slices.Values(q.IDs))) {
			switch l := c.jobs.Get(id); {
			case l == nil:
			case l.State.Live():
				running = append(running, l)
			case c.queue.Has(id):
				queue = append(queue, id)
			default:
				rest = append(rest, l)
			}
		}
		if queue != nil {
			queue = c.queue.Arrange(c.queue.Snapshot(now), c.queue.Queue, queue)
		}
	default:
		most := c.jobs.Count()
		if q.Waiting > 0 && q.MatchesAll() {
			most = q.Waiting
		}
		running = slices.Collect(c.jobs.Live())
		queue = c.queue.Ordered(c.queue.Snapshot(now), c.queue.Queue, min(most, c.queue.Len()))
		rest, beyond = c.jobsWithoutUnit(most)
		beyond += c.queue.Len() - len(queue)
	}
	waiting := make([]*tracked.Job, 0, len(queue))
	for _, id := range queue {
		if l := c.jobs.Get(id); !l.State.Live() { // otherwise it is parked, and among those with a unit
			waiting = append(waiting, l)
		}
	}
	queued, every := 0, q.MatchesAll()
	list = slices.DeleteFunc(slices.Concat(running, waiting, rest), func(l *tracked.Job) bool {
		switch {
		case !every && !q.Matches(l.Seen()):
			return true
		case l.State != job.Queued || q.Waiting == 0:
			return false
		}
		if queued++; queued > q.Waiting {
			beyond++
		}
		return queued > q.Waiting
	})
	return list, beyond
}

// jobsWithoutUnit returns, by id, the jobs that have no unit and are not in the queue. If more than
// the given number of them are held or wait for something other than room, it leaves out the rest
// and returns the number of those left out.
func (c *state) jobsWithoutUnit(most int) (list []*tracked.Job, beyond int) {
	if c.jobs.ActiveCount()+c.queue.Len()-c.queue.Returning() == c.jobs.Count() { // each job has a unit or is in the queue
		return nil, 0
	}
	var queued, spawned []job.ID
	for id, l := range c.jobs.All() {
		switch {
		case l.State == job.Spawned:
			spawned = append(spawned, id)
		case !l.State.Live() && !c.queue.Has(id):
			queued = append(queued, id)
		}
	}
	slices.Sort(queued)
	first := min(most, len(queued))
	for _, id := range slices.Sorted(slices.Values(slices.Concat(queued[:first], spawned))) {
		list = append(list, c.jobs.Get(id))
	}
	return list, len(queued) - first
}

// explain returns the reasons why a queued job waits, according to the last plan.
func (c *state) explain(l *tracked.Job) []job.Reason {
	if !c.systemd.listed() {
		return []job.Reason{{Code: job.ReasonNoSample, GPU: job.NoGPU}}
	}
	j := l.Job
	alone := func(code job.ReasonCode, detail job.Message) []job.Reason {
		return []job.Reason{{Code: code, GPU: job.NoGPU, Detail: detail}}
	}
	switch {
	case l.Action == tracked.InLine:
		return alone(job.ReasonTurn, job.Message{})
	case j.Heir != nil:
		return alone(job.ReasonGone, whyGone(j))
	case j.Held != "":
		return alone(job.ReasonHeld, job.Text(j.Held))
	case j.TooManyFailed():
		return []job.Reason{{Code: job.ReasonFailures, GPU: job.NoGPU,
			Need: int64(j.Request.MaxFailures), Have: int64(j.Tasks.Failures)}}
	case len(j.Pending) > 0:
		var why []job.Reason
		for _, d := range j.Pending {
			what := job.Say(toDo[d.Kind])
			why = append(why, job.Reason{Code: job.ReasonDependency, GPU: job.NoGPU, Job: d.Job, Detail: what})
		}
		return c.jobs.NameReasons(why)
	case c.jobs.HasTimer(j.ID) && j.NotBefore.After(j.Request.Begin):
		if tries := tracked.TriesOf(j); tries > 0 {
			why := job.Say("detail/at-since", j.NotBefore, j.Attempt.Result.Detail)
			return []job.Reason{{Code: job.ReasonBackoff, GPU: job.NoGPU, Need: int64(tries), Detail: why}}
		}
		return alone(job.ReasonBackoff, job.Say("detail/at", j.NotBefore))
	case c.jobs.HasTimer(j.ID):
		return alone(job.ReasonBegin, job.Say("detail/at", j.Request.Begin))
	}
	if why := c.heldBack(l); why != nil && !j.Returns() {
		return why
	}
	if c.queue.Placed(j.ID) {
		return alone(job.ReasonChecking, job.Message{})
	}
	w := c.queue.WaitingJob(l)
	if why := c.queue.Explain(&w); len(why) > 0 {
		return c.jobs.NameReasons(c.gpus.NameForeign(c.explainHolders(why)))
	}
	return []job.Reason{{Code: job.ReasonChecking, GPU: job.NoGPU}}
}

// heldBack returns why a job may not start even if there is room for it, or nil if it may.
func (c *state) heldBack(l *tracked.Job) []job.Reason {
	if why := c.jobs.FullLane(l); why != nil {
		return why
	}
	if g := c.gpus.Closed(time.Time{}); g != nil { // a drain whose time is over is shown until a tick ends it
		return []job.Reason{{Code: job.ReasonDrained, GPU: job.NoGPU, Detail: g.Say()}}
	}
	return c.troubles.StartsHeld(l)
}

// explainHolders completes reasons that name jobs on a GPU. It adds the time by which a warned job
// has to make room, or the reason why nobody knows when a job ends.
func (c *state) explainHolders(why []job.Reason) []job.Reason {
	for i := range why {
		by := c.jobs.Active(why[i].Job)
		if why[i].Code == job.ReasonGPUBusy && by != nil && !stopAt(by.Job).IsZero() {
			why[i].Detail = job.Say("detail/makes-room", by.StopAt.Add(by.Request.GraceTime().Duration()))
		}
		for _, id := range append([]job.ID{why[i].Job}, why[i].Others...) {
			l := c.jobs.Active(id)
			switch {
			case l == nil || !why[i].Endless.IsZero() || l.Park != job.NotParked: // the driver copies for a while
			case l.IsSuspended():
				why[i].Endless = job.Say("detail/endless-suspended", c.jobs.Called(id), l.Owner.User)
			case l.Request.TimeLimit == 0 && l.Expected == 0:
				why[i].Endless = job.Say("detail/endless-new", c.jobs.Called(id), l.Owner.User)
			}
		}
	}
	return why
}

// toDo says, for each kind of dependency, what the other job has to do.
var toDo = map[job.DependencyKind]job.Code{
	job.AfterStart: "detail/has-started", job.AfterOK: "detail/has-completed",
	job.AfterFail: "detail/has-failed", job.AfterAny: "detail/has-ended",
}

// endsAt returns when a running job is expected to end. If no similar job has ended, that is when
// the job reaches its time limit, or zero if the job has no limit.
func (c *state) endsAt(l *tracked.Job, now time.Time) time.Time {
	limit := l.Request.TimeLimit.Duration()
	switch {
	case l.State != job.Running || l.IsSuspended():
		return time.Time{}
	case c.estimates.Of(l).Known:
		return c.estimates.ExpectedEnd(l, now)
	case limit == 0:
		return time.Time{}
	}
	return now.Add(max(0, limit-tracked.RanFor(l.Job, now)))
}

// DriverDiffers reports whether the installed driver differs from the loaded one. If it does, no
// GPU takes jobs.
func (c *state) DriverDiffers() bool { return c.gpus.DriverDiffers() }

// OutOfService returns the GPUs that take no jobs because of a fault, as a map from UUID to index.
// While the state of the GPUs is unknown, the map is empty.
func (c *state) OutOfService(now time.Time) map[string]int {
	return c.gpus.OutOfService(now)
}

// Active returns, by id, the jobs that have a unit or may have one.
func (c *state) Active() []job.Job {
	jobs := make([]job.Job, 0, c.jobs.ActiveCount())
	for l := range c.jobs.Live() {
		jobs = append(jobs, *l.Job)
	}
	return jobs
}

// Counts returns the number of jobs in each state that is not final.
func (c *state) Counts() map[job.State]int { return c.jobs.Counts() }

// Uses returns what is known about the GPU use of all jobs that hold GPUs.
func (c *state) Uses() map[job.ID][]job.GPUNow {
	all := map[job.ID][]job.GPUNow{}
	for l := range c.jobs.Live() {
		if uses := l.UsesNow(); uses != nil {
			all[l.ID] = uses
		}
	}
	return all
}

// Entitlement returns a user's use of GPUs, and what is left of the user's quotas.
func (c *state) Entitlement(uid int, now time.Time) job.Entitlement {
	return c.accounts.Entitlement(uid, now)
}
