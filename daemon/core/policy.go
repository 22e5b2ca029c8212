package core

import (
	"slices"
	"time"
)

// Policy is what the site decided, and what the machine is.
type Policy struct {
	HostMemBytes   int64         // that jobs may be promised together; 0: not counted
	DefaultTime    time.Duration // 0: no limit
	MaxTime        time.Duration // 0: none
	DefaultGrace   time.Duration
	MaxGrace       time.Duration // 0: none
	DefaultRequeue bool
	AllowRaised    bool // anyone may raise a priority

	// DefaultMem gives the host memory of a job that names none, by what it
	// asks and how many GPUs there are; 0 is no limit. It must be a function
	// of its arguments alone. Nil is no limit for anybody.
	DefaultMem func(gpuMilli, gpus int) int64

	MaxRunning       int // 0: no limit
	MaxQueued        int
	MaxQueuedPerUser int

	OnlyGPUs        []int // physical indexes on offer; empty: all
	CleaningTimeout time.Duration
	MemSlackBytes   int64         // GPU memory that may stay used after a job without being held against it
	StaleAfter      time.Duration // a sample older than this says nothing
	FreshFor        time.Duration // a sample younger than this is good for a memory promise
}

// configure takes on a new policy. GPUs that are no longer on offer are
// forgotten unless a job holds them.
func (c *Core) configure(p Policy) {
	c.policy, c.replan = p, true
	c.devices = slices.DeleteFunc(c.devices, func(d *device) bool {
		return len(p.OnlyGPUs) > 0 && !slices.Contains(p.OnlyGPUs, d.Index) && c.holder(d) == nil
	})
	c.look()
}
