package job

import "time"

// Run is one attempt of a job, with the facts about the job that reports use. If a job ended
// without an attempt, its Run has an Attempt with Number 0 and only an end.
type Run struct {
	Job    ID
	Owner  Owner
	Name   string
	Tags   map[string]string
	Class  Class
	Mem    int64 // requested host memory
	GPUMem int64 // requested memory of each GPU
	CPUs   int   // number of requested CPUs
	Limit  time.Duration
	End    State // how the job ended, if it has ended and this was its last attempt

	Attempt Attempt
}

// RunOf returns the Run of a job's attempt. If a is nil, the job had no attempt.
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

// Until returns the end of the attempt, or now if it has not ended.
func (a *Attempt) Until(now time.Time) time.Time {
	if a.EndedAt.IsZero() {
		return now
	}
	return a.EndedAt
}

// Ran returns the run time of the command so far. It is 0 if the command never began, or if a
// change of the clock moved its end before its start.
func (a *Attempt) Ran(now time.Time) time.Duration {
	if a.StartedAt.IsZero() {
		return 0
	}
	return max(0, a.Until(now).Sub(a.StartedAt))
}

// Waited returns how long the attempt waited although the job could have started. It returns false
// if that is unknown.
func (a *Attempt) Waited() (time.Duration, bool) {
	if a.EligibleAt.IsZero() || a.PlacedAt.IsZero() {
		return 0, false
	}
	return max(0, a.PlacedAt.Sub(a.EligibleAt)), true
}

// Milli returns the sum of the attempt's shares, in thousandths of a GPU.
func (a *Attempt) Milli() (sum int) {
	for i := range a.GPUs {
		sum += a.GPUs[i].Share()
	}
	return sum
}

// RunQuery selects runs.
type RunQuery struct {
	From time.Time // runs that had not ended at this time; zero: all on record
	UID  *int      // only runs of this user
	User string    // only runs of the account with this name; see Query.User
	Tags bool      // add the tags
}

// Wants reports whether the query selects runs of this owner.
func (q *RunQuery) Wants(o *Owner) bool { return o.belongsTo(q.UID, q.User) }

// Times sum up durations, in seconds.
type Times struct {
	Of     int     `json:"of"`
	Mean   float64 `json:"mean_seconds"`
	Median float64 `json:"median_seconds"`
	P95    float64 `json:"p95_seconds"` // 5% of the durations are longer
}
