package core

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A job that waited from a moment to come, since the clock was set back while the daemon was
// away, waits from now on, and rests like any other: the clock of the process tells a moment
// in another form than the state file has.
func TestAJobRestsAfterTheClockWasSetBack(t *testing.T) {
	now := time.Now() // of this process, with its own clock
	at := now.UTC().Round(0).Add(time.Hour)
	j := job.Job{ID: 1, State: job.Queued, SubmittedAt: at, ChangedAt: at, Life: job.Life{QueuedAt: at}}
	j.Request.GPUMilli = 1000 // there is no GPU
	c := New(Policy{}, "boot1", job.Restored{Jobs: []job.Job{j}})
	c.Step(Listed{Boot: "boot1"}, now)
	l := c.jobs.find(1)
	if l.job != nil {
		t.Errorf("it does not rest: %+v", l.job)
	}
	c.jobs.look(l)
	if got := l.job.QueuedAt; !got.Equal(now) {
		t.Errorf("it waits from %s on, %s is now", got, now)
	}
}
