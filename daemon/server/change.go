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
	return c.Err()
}

// moment is a time in UTC without the monotonic clock, and no time for none.
func moment(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Round(0)
}
