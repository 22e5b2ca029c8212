package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// MemMode is how the host memory of a job that names none is chosen.
type MemMode int

// The modes.
const (
	MemAuto  MemMode = iota // its share of the host's memory by its share of the GPUs
	MemNone                 // no limit
	MemFixed                // Policy.DefaultMemBytes
)

// Policy is what the site decided, and what the machine is.
type Policy struct {
	HostMemBytes    int64 // that jobs may be promised together; 0: not counted
	DefaultMem      MemMode
	DefaultMemBytes int64
	DefaultTime     time.Duration // 0: no limit
	MaxTime         time.Duration // 0: none
	DefaultGrace    time.Duration
	MaxGrace        time.Duration
	DefaultRequeue  bool
	AllowRaised     bool // anyone may raise a priority

	MaxRunning       int // 0: no limit
	MaxQueued        int
	MaxQueuedPerUser int

	OnlyGPUs        []int // physical indexes on offer; empty: all
	CleaningTimeout time.Duration
	MemSlackBytes   int64         // GPU memory that may stay used after a job without being held against it
	StaleAfter      time.Duration // a sample older than this says nothing
	FreshFor        time.Duration // a sample younger than this is good for a memory promise
}

// The bounds of the automatic host memory of a job without GPUs.
const (
	minCPUJobMem = 1 << 30
	maxCPUJobMem = 8 << 30
)

// defaultMem returns the host memory for a request that names none; 0 is no
// limit.
func (p *Policy) defaultMem(r *job.Request, gpus int) int64 {
	switch {
	case p.DefaultMem == MemFixed:
		return p.DefaultMemBytes
	case p.DefaultMem == MemNone || p.HostMemBytes == 0:
		return 0
	case r.GPUMilli == 0 || gpus == 0:
		return min(max(p.HostMemBytes/16, minCPUJobMem), maxCPUJobMem, p.HostMemBytes)
	}
	return p.HostMemBytes / int64(gpus) * int64(r.GPUMilli) / job.WholeGPU
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
