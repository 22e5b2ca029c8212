package daemon

import (
	"fmt"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Limits for steps of the wall clock.
const (
	leastJump = time.Second // a smaller difference is not treated as a step
	bigJump   = time.Minute // a smaller step is a normal correction, and is not reported
	jumpFresh = time.Hour   // how long health reports a step
)

// clock notices when somebody sets the wall clock, because the wall clock and the monotonic clock
// then advance by different amounts. Only the loop calls advance. Any goroutine may call check.
type clock struct {
	begun  bool
	wall   time.Time     // at the last call of advance
	steady time.Duration // at the last call of advance

	mu sync.Mutex // guards the fields below
	by time.Duration
	at time.Time
}

// advance returns the step of the wall clock since the last call, 0 for none. The argument
// monotonic is the monotonic time.
func (c *clock) advance(wall time.Time, monotonic time.Duration) time.Duration {
	wall = wall.Round(0)
	by := wall.Sub(c.wall) - (monotonic - c.steady)
	first := !c.begun
	c.begun, c.wall, c.steady = true, wall, monotonic
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
		Name: "clock", Health: job.Degraded, Detail: fmt.Sprintf("it was set %s at %s; time limits, waits and GPU use are not affected", setBy(c.by), c.at.Format("15:04:05")),
		Next: "nothing, if the clock is correct now; begin times, reservations and the ends of pauses follow it ('timedatectl')",
	}
}

func setBy(by time.Duration) string {
	if by < 0 {
		return "back by " + job.FormatDuration((-by).Round(time.Minute))
	}
	return "forward by " + job.FormatDuration(by.Round(time.Minute))
}
