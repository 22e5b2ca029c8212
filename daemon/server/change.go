package server

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// checkChange returns what is wrong with a client's update of a job.
func checkChange(c *job.Change) error {
	if c.Begin != nil {
		c.Begin = new(moment(*c.Begin))
	}
	if c.TimeLimit != nil {
		c.TimeLimit = new(c.TimeLimit.Ceil())
	}
	return c.Err()
}

// wholeSpans rounds the durations of a request up to whole seconds.
// Listings then show them exactly.
func wholeSpans(r *job.Request) {
	for _, s := range []*job.Span{&r.TimeLimit, &r.WarnBefore, &r.Backoff} {
		*s = s.Ceil()
	}
	if r.Grace != nil {
		r.Grace = new(r.Grace.Ceil())
	}
}

// moment returns t in UTC, without the monotonic clock. A zero time stays zero.
func moment(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Round(0)
}
