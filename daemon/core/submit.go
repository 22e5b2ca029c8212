package core

import (
	"cmp"
	"time"

	"github.com/gpusched/gpusched/daemon/core/foresight"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

func (c *Core) submit(e Submit, now time.Time) Reply {
	s, r := e.Submission, Reply{Token: e.Token, brief: e.Submission.Brief}
	if r.ID, r.Known = c.requests.Find(s.Owner.UID, s.Key); r.Known {
		if c.jobs.IsOthers(r.ID, &s.Owner) {
			return Reply{Token: e.Token, Refusal: job.Refuse("conflict/key", r.ID)}
		}
		return r
	}
	j, refusal := c.admit(&s, now)
	if refusal != nil {
		r.Refusal = refusal
		return r
	}
	if id, ok := c.requests.DuplicateOf(&s); ok && id != e.Forgotten && !c.jobs.IsOthers(id, &s.Owner) {
		r.ID, r.Known = id, true
		return r
	}
	if r.Refusal = c.findPending(&j, &s); r.Refusal != nil {
		return r
	}
	j.ID = c.jobs.Next()
	l := c.adopt(&j)
	c.jobs.Claim(j.ID)
	c.deps.Follow(l)
	c.requests.Remember(s.Owner.UID, s.Key, s.Request.Dedup, j.ID)
	c.step.storePayload(j.ID, &s.Payload)
	c.queue.Enqueue(l, now)
	c.step.markDirty(l)
	c.step.replan()
	r.ID = j.ID
	return r
}

// findPending fills in the unmet dependencies of a new job.
func (c *state) findPending(j *job.Job, s *job.Submission) (refusal *job.Refusal) {
	if j.Pending, refusal = c.pending(s.Request.After, s.Ended); refusal != nil {
		return refusal
	}
	return c.deps.EdgesQuota(j, len(j.Pending), 0)
}

// newJob makes the job of a submission. The job has no id and no dependencies yet.
func newJob(s *job.Submission, now time.Time) job.Job {
	j := job.Job{
		Key: s.Key, Owner: s.Owner, Label: s.Label, Request: s.Request,
		SubmittedAt: now, State: job.Queued, ChangedAt: now,
		Life: job.Life{QueuedAt: now, GIDs: s.GIDs, Bytes: s.Payload.Size(), Principal: s.Principal},
	}
	if s.Request.Hold {
		j.Held = s.Owner.User
	}
	if s.Request.Array != nil {
		j.Tasks = &job.Tasks{}
	}
	return j
}

// Try finds out what would become of a submission, and changes nothing. It returns the job as it
// would be queued, the reasons why it would wait, and a forecast. Without a reason, the job would
// start. If the submission would be refused, Try returns the refusal.
func (c *state) Try(s job.Submission, now time.Time) (job.JobView, *foresight.Foresight, *job.Refusal) {
	j, refusal := c.admit(&s, now)
	if refusal == nil {
		refusal = c.findPending(&j, &s)
	}
	if refusal != nil {
		return job.JobView{}, nil, refusal
	}
	l := &tracked.Job{Job: &j, Account: c.accounts.Of(s.Owner, s.Principal)}
	c.accounts.Join(s.Owner.UID, s.GIDs)
	c.jobs.Lanes.Enter(l)
	defer c.jobs.Lanes.Leave(l)
	c.queue.Enqueue(l, now)
	defer c.queue.Dequeue(l, now)
	v := job.JobView{Job: *l.Job, MemKnown: c.estimates.Memory(l.Kind())}
	for _, p := range c.queue.FindPlacements(now) {
		if p.Job == 0 && c.gpus.Closed(now) == nil {
			v.State = job.Starting // a view shows GPUs only for jobs that are not queued
			v.Attempt = &job.Attempt{Number: 1, GPUs: c.gpus.Refs(p.Grants)}
			return v, nil, nil
		}
	}
	v.Reasons = c.explain(l)
	if c.gpus.Closed(now) != nil {
		return v, nil, nil
	}
	return v, c.queue.ForeseeAlone(now, l), nil
}

// admit fills in the site's defaults. If the site's rules allow the job, admit makes it.
func (c *state) admit(s *job.Submission, now time.Time) (j job.Job, refusal *job.Refusal) {
	c.accounts.Enroll(s.Owner, s.Principal, now)
	c.queue.FillGPUMem(s, now)
	c.applyDefaults(s)
	if refusal := c.checkRules(s, false); refusal != nil {
		return j, refusal
	}
	if p := &c.policy; p.MaxQueued > 0 && c.jobs.QueuedCount() >= p.MaxQueued {
		return j, job.Refuse("policy/queue", c.jobs.QueuedCount())
	}
	j = newJob(s, now)
	if refusal := c.accounts.QueueQuota(&j); refusal != nil {
		return j, refusal
	}
	if refusal := c.jobs.BytesQuota(&j, 0, c.policy.MaxBytes); refusal != nil {
		return j, refusal
	}
	machine := c.queue.Snapshot(now)
	j.Request.MemMilli = sched.MemoryPart(machine, &j.Request)
	j.Request.SetMates(s.Owner.UID)
	return j, sched.Infeasible(machine, c.accounts.Of(s.Owner, s.Principal), &j.Request)
}

// checkRules checks a request against the site's rules. It refuses a raised priority, unless the
// submitter may raise it or mayRaise is true.
func (c *state) checkRules(s *job.Submission, mayRaise bool) *job.Refusal {
	p, r := &c.policy, &s.Request
	if r.Priority.Raised() && !c.mayRaise(s) && !mayRaise {
		return job.Refuse("forbidden/priority")
	}
	if refusal := c.timeAllowed(r); refusal != nil {
		return refusal
	}
	switch {
	case p.MaxGrace > 0 && r.GraceTime().Duration() > p.MaxGrace:
		return job.Refuse("policy/grace", *r.Grace, p.MaxGrace)
	case p.MaxMemBytes > 0 && (r.MemBytes > p.MaxMemBytes || r.MemBytes == 0):
		return job.Refuse("policy/memory", memLimit(r.MemBytes), job.Size(p.MaxMemBytes))
	case r.Part() > 0 && r.Part() < p.SmallestPart && p.SmallestPart == job.WholeGPU:
		return job.Refuse("policy/no-parts", job.GPUs(r.GPUMilli))
	case r.Part() > 0 && r.Part() < p.SmallestPart:
		return job.Refuse("policy/part", job.GPUs(r.Part()), job.GPUs(p.SmallestPart))
	case r.Retries > p.MaxRetries:
		return job.Refuse("policy/retries", r.Retries, p.MaxRetries)
	}
	return nil
}

// timeAllowed checks a time limit against the site's limits.
func (c *state) timeAllowed(r *job.Request) *job.Refusal {
	p := &c.policy
	limit, most := r.TimeLimit.Duration(), p.ClassMaxTime[r.Priority.Class]
	switch {
	case p.MaxTime > 0 && (limit > p.MaxTime || limit == 0):
		return job.Refuse("policy/time", timeLimit(limit), p.MaxTime)
	case most > 0 && (limit > most || limit == 0):
		return job.Refuse("policy/class-time", timeLimit(limit), r.Priority.Class, most)
	}
	return nil
}

// mayRaise reports whether the user who submits or changes a job may raise its priority.
func (c *state) mayRaise(s *job.Submission) bool { return s.Admin || c.policy.AllowRaised }

func timeLimit(d time.Duration) job.Message {
	if d == 0 {
		return job.Say("detail/no-time-limit")
	}
	return job.Say("detail/time-limit", d)
}

func memLimit(n int64) job.Message {
	if n == 0 {
		return job.Say("detail/no-memory")
	}
	return job.Say("detail/memory", job.Size(n))
}

// applyDefaults fills in the options that the submitter did not set.
func (c *state) applyDefaults(s *job.Submission) {
	p, r := &c.policy, &s.Request
	if r.TimeLimit == 0 {
		limit := cmp.Or(p.DefaultTime, p.MaxTime)
		if most := p.ClassMaxTime[r.Priority.Class]; most > 0 && (limit == 0 || limit > most) {
			limit = most
		}
		r.TimeLimit = job.Span(limit)
	}
	switch r.Retries {
	case 0:
		r.Retries = p.DefaultRetries
	case job.NoRetries:
		r.Retries = 0
	}
	if r.OnTimeout == "" {
		r.OnTimeout = p.DefaultOnTimeout
	}
	c.applyDerivedDefaults(s)
	r.Grace = cmp.Or(r.Grace, new(job.Span(p.DefaultGrace)))
	r.Requeue = cmp.Or(r.Requeue, new(p.DefaultRequeue))
}

// applyDerivedDefaults fills in the defaults that depend on the rest of a new or changed request.
func (c *state) applyDerivedDefaults(s *job.Submission) {
	p, r := &c.policy, &s.Request
	if r.MemBytes == 0 {
		r.MemBytes = c.defaultMem(r.GPUMilli, c.accounts.Of(s.Owner, s.Principal))
		r.DefaultedMem = r.MemBytes > 0
	}
	if r.Retries > 0 && r.Backoff == 0 {
		r.Backoff = job.Span(p.DefaultBackoff)
	}
	if r.ImpliedStop {
		r.Preemptible = false
	}
	r.ImpliedStop = !r.Preemptible && r.Priority.Class == job.Scavenger
	r.Preemptible = r.Preemptible || r.ImpliedStop
}

// defaultMem returns the host memory of an account's job that does not name any. It never exceeds
// the memory that such a job can get. 0 means that the memory has no limit.
func (c *state) defaultMem(gpuMilli int, a *sched.Account) int64 {
	p, n := &c.policy, int64(0)
	if p.DefaultMem != nil {
		n = p.DefaultMem(gpuMilli, c.gpus.Count())
	}
	if p.MaxMemBytes > 0 && (n == 0 || n > p.MaxMemBytes) {
		n = p.MaxMemBytes
	}
	if p.HostMemBytes > 0 {
		n = min(n, p.HostMemBytes)
	}
	for _, q := range append([]*sched.Account{a}, a.Groups...) {
		if q.MaxMem > 0 {
			n = min(n, q.MaxMem)
		}
	}
	return n
}
