package job

import "time"

// Run is one attempt of a job with what of the job is worth counting. A job that ended
// without one has a Run whose Attempt has the Number 0 and the end alone.
type Run struct {
	Job    ID
	Owner  Owner
	Name   string
	Tags   map[string]string
	Class  Class
	Mem    int64 // of the host, as it was asked
	GPUMem int64 // of each GPU, the same
	CPUs   int   // the same
	Limit  time.Duration
	End    State // how the job ended, where it has and this was its last attempt

	Attempt Attempt
}

// RunOf is an attempt of a job; nil is none.
func RunOf(j *Job, a *Attempt) Run {
	r := Run{Job: j.ID, Owner: j.Owner, Name: j.Label.Name, Tags: j.Label.Tags, Class: j.Request.Priority.Class}
	r.Mem, r.GPUMem, r.CPUs = j.Request.MemBytes, j.Request.GPUMemBytes, j.Request.CPUs
	r.Limit = j.Request.TimeLimit.Duration()
	if a != nil {
		r.Attempt = *a
	}
	if j.State.Terminal() && (a == nil || j.Attempt != nil && j.Attempt.Number == a.Number) {
		r.End = j.State
	}
	if a == nil && j.State.Terminal() {
		r.Attempt.EndedAt = j.ChangedAt
	}
	return r
}

// Until is when the attempt ended, or now.
func (a *Attempt) Until(now time.Time) time.Time {
	if a.EndedAt.IsZero() {
		return now
	}
	return a.EndedAt
}

// Ran is for how long the command has run; 0 for one that never began, or that ended
// before it began by a clock that was set.
func (a *Attempt) Ran(now time.Time) time.Duration {
	if a.StartedAt.IsZero() {
		return 0
	}
	return max(0, a.Until(now).Sub(a.StartedAt))
}

// Waited is how long its job could have started before it did; false: unknown.
func (a *Attempt) Waited() (time.Duration, bool) {
	if a.EligibleAt.IsZero() || a.PlacedAt.IsZero() {
		return 0, false
	}
	return max(0, a.PlacedAt.Sub(a.EligibleAt)), true
}

// Milli is the share of all its GPUs together, in thousandths of a GPU.
func (a *Attempt) Milli() (sum int) {
	for i := range a.GPUs {
		sum += a.GPUs[i].Share()
	}
	return sum
}

// RunQuery selects runs.
type RunQuery struct {
	From time.Time // that were under way then or later; zero: all on record
	UID  *int      // of this user
	User string    // as Query.User
	Tags bool      // with their tags
}

// Wants reports whether the query selects the runs of an owner.
func (q *RunQuery) Wants(o *Owner) bool { return o.belongsTo(q.UID, q.User) }

// Times sum up how long things took, in seconds.
type Times struct {
	Of     int     `json:"of"`
	Mean   float64 `json:"mean_seconds"`
	Median float64 `json:"median_seconds"`
	P95    float64 `json:"p95_seconds"` // one of twenty takes longer
}
