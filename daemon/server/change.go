package server

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// checkChange reports what is wrong with an update that a client asks for.
func checkChange(c *job.Change) error {
	if c.Begin != nil {
		c.Begin = new(moment(*c.Begin))
	}
	if c.TimeLimit != nil {
		c.TimeLimit = new(c.TimeLimit.Ceil())
	}
	return c.Err()
}

// wholeSpans rounds the spans of a request up to whole seconds, which is what
// everybody may take for granted who reads a listing.
func wholeSpans(r *job.Request) {
	for _, s := range []*job.Span{&r.TimeLimit, &r.WarnBefore, &r.Backoff} {
		*s = s.Ceil()
	}
	if r.Grace != nil {
		r.Grace = new(r.Grace.Ceil())
	}
}

// moment is a time in UTC without the monotonic clock, and no time for none.
func moment(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Round(0)
}
