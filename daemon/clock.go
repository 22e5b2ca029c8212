package daemon

import (
	"fmt"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// What is reported of a clock that is set.
const (
	leastJump = time.Second // less passes for time that went by
	bigJump   = time.Minute // smaller ones are corrections, which are not worth a word
	jumpFresh = time.Hour   // health tells for so long
)

// clock notices when the wall clock is set: what it shows then moves by another
// amount than the steady one. The loop sees, everybody may check.
type clock struct {
	begun  bool
	wall   time.Time     // when it was seen last
	steady time.Duration // the same

	mu sync.Mutex // guards what follows
	by time.Duration
	at time.Time
}

// see compares what both clocks show and returns by how much the wall clock was
// set since the last time, 0 for no jump.
func (c *clock) see(wall time.Time, steady time.Duration) time.Duration {
	wall = wall.Round(0)
	by := wall.Sub(c.wall) - (steady - c.steady)
	first := !c.begun
	c.begun, c.wall, c.steady = true, wall, steady
	if first || by.Abs() < leastJump {
		return 0
	}
	if by.Abs() < bigJump {
		return by
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by, c.at = by, wall
	return by
}

func (c *clock) check(now time.Time) job.Check {
	now = now.Round(0)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() || now.Sub(c.at) > jumpFresh {
		return job.Check{Name: "clock", Health: job.Healthy, Detail: "no step larger than a minute in the last hour"}
	}
	return job.Check{
		Name: "clock", Health: job.Degraded, Detail: fmt.Sprintf("it was set %s at %s; time limits, waits and what was used of GPUs are as before", setBy(c.by), c.at.Format("15:04:05")),
		Next: "if it is right now, nothing; begin times, reservations and the ends of pauses go by it, see 'timedatectl'",
	}
}

func setBy(by time.Duration) string {
	if by < 0 {
		return "back by " + job.FormatDuration((-by).Round(time.Minute))
	}
	return "forward by " + job.FormatDuration(by.Round(time.Minute))
}
