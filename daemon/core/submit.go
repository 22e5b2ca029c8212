package core

import (
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

func (c *Core) submit(e Submit, now time.Time) {
	s := e.Submission
	if id, ok := c.keys.find(s.Owner.UID, s.Key); ok {
		c.replies = append(c.replies, pendingReply{Reply{Token: e.Token, Known: true}, id})
		return
	}
	if refusal := c.admit(&s, now); refusal != nil {
		c.replies = append(c.replies, pendingReply{Reply: Reply{Token: e.Token, Refusal: refusal}})
		return
	}
	l := &live{job: newJob(c.nextID, &s, now)}
	c.nextID++
	c.jobs[l.job.ID] = l
	c.keys.add(s.Owner.UID, s.Key, l.job.ID)
	c.payload[l.job.ID] = &s.Payload
	c.enqueue(l)
	c.touch(l)
	c.replan = true
	c.replies = append(c.replies, pendingReply{Reply{Token: e.Token}, l.job.ID})
}

func newJob(id job.ID, s *job.Submission, now time.Time) job.Job {
	return job.Job{
		ID: id, Key: s.Key, Owner: s.Owner, Label: s.Label, Request: s.Request,
		SubmittedAt: now, State: job.Queued, ChangedAt: now,
	}
}

// Try says what would become of a submission: the job as it would be queued,
// with the reasons for which it would wait (none: it would start), or the
// refusal. Nothing changes.
func (c *Core) Try(s job.Submission, now time.Time) (job.JobView, *job.Refusal) {
	if refusal := c.admit(&s, now); refusal != nil {
		return job.JobView{}, refusal
	}
	v := job.JobView{Job: newJob(0, &s, now)}
	snap := c.snapshot(now)
	snap.Waiting = append(append([]sched.Waiting(nil), snap.Waiting...), sched.Waiting{Request: &v.Request})
	for _, p := range sched.Plan(&snap) {
		if p.Job == 0 {
			v.Attempt = &job.Attempt{Number: 1, GPUs: c.refs(p.GPUs)}
			return v, nil
		}
	}
	snap = c.snapshot(now)
	v.Reasons = sched.Explain(&snap, &v.Request)
	return v, nil
}

// admit fills in the site's defaults and says whether the job may be queued.
func (c *Core) admit(s *job.Submission, now time.Time) *job.Refusal {
	c.complete(s)
	p, r := &c.policy, &s.Request
	switch {
	case r.Priority.Raised() && !s.Admin && !p.AllowRaised:
		return refuse(job.RefusedForbidden, "only an administrator may raise a priority above normal", "leave --priority out, or use a number of 0 or below")
	case p.MaxTime > 0 && r.TimeLimit > p.MaxTime:
		return refuse(job.RefusedPolicy, fmt.Sprintf("the time limit %s is above this site's longest, %s", job.FormatDuration(r.TimeLimit), job.FormatDuration(p.MaxTime)), "use a shorter --time")
	case p.MaxGrace > 0 && r.Grace > p.MaxGrace:
		return refuse(job.RefusedPolicy, fmt.Sprintf("the grace time %s is above this site's longest, %s", job.FormatDuration(r.Grace), job.FormatDuration(p.MaxGrace)), "use a shorter --grace")
	case p.MaxQueued > 0 && len(c.queue) >= p.MaxQueued:
		return refuse(job.RefusedPolicy, fmt.Sprintf("the queue is full: %d jobs wait", len(c.queue)), "try again when some have started")
	case p.Quotas.Default.Queued > 0 && c.perUser[s.Owner.UID] >= p.Quotas.Default.Queued:
		return refuse(job.RefusedPolicy, fmt.Sprintf("you have %d jobs waiting, this site's limit", c.perUser[s.Owner.UID]), "try again when some have started, or cancel some")
	}
	snap := c.snapshot(now)
	return sched.Never(&snap, r)
}

// complete fills in what the submitter left to the site.
func (c *Core) complete(s *job.Submission) {
	p, r := &c.policy, &s.Request
	if r.MemBytes == 0 && p.DefaultMem != nil {
		r.MemBytes = p.DefaultMem(r.GPUMilli, len(c.devices))
		if p.HostMemBytes > 0 {
			r.MemBytes = min(r.MemBytes, p.HostMemBytes)
		}
		r.DefaultedMem = r.MemBytes > 0
	}
	if r.TimeLimit == 0 {
		r.TimeLimit = p.DefaultTime
		if r.TimeLimit == 0 {
			r.TimeLimit = p.MaxTime
		}
	}
	r.Grace, r.Requeue = p.DefaultGrace, p.DefaultRequeue
	if s.Grace != nil {
		r.Grace = *s.Grace
	}
	if s.Requeue != nil {
		r.Requeue = *s.Requeue
	}
}

func refuse(kind job.RefusalKind, message, hint string) *job.Refusal {
	return &job.Refusal{Kind: kind, Message: message, Hint: hint}
}
