package core

import "github.com/gpusched/gpusched/daemon/job"

// addBytes counts what a job weighs among its person's bytes until removeBytes.
func (b *jobBook) addBytes(l *trackedJob) {
	l.weight = l.job.Weight()
	b.bytes[l.job.Person().UID] += l.weight
}

// removeBytes undoes addBytes.
func (b *jobBook) removeBytes(l *trackedJob) {
	uid := l.job.Person().UID
	if b.bytes[uid] -= l.weight; b.bytes[uid] == 0 {
		delete(b.bytes, uid)
	}
}

// bytesOf is what the jobs of a person weigh.
func (b *jobBook) bytesOf(uid int) int64 { return b.bytes[uid] }

// bytesQuota refuses a job, or a change of one that weighed before, with which
// its person's jobs would take too much of the state file and of memory. A
// change that makes a job lighter is never refused.
func (c *Core) bytesQuota(j *job.Job, before int64) *job.Refusal {
	most, have, weight := c.policy.MaxBytes, c.jobs.bytesOf(j.Person().UID), j.Weight()
	if most == 0 || weight <= before || have-before+weight <= most {
		return nil
	}
	return job.Refuse("policy/bytes", job.Size(have), job.Size(weight-before), job.Size(most))
}
