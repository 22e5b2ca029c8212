package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// changes are what may have a waiting job start sooner, those first with which its owner gives
// least up. Nothing of a job that may be stopped is raised, and each asks less than the job does.
func (c *Core) changes(l *trackedJob) (list []job.Sooner) {
	r := &l.job.Request
	list = append(list, choices(r)...)
	list = append(list, c.memoryChanges(l)...)
	list = append(list, c.timeChanges(l)...)
	for _, milli := range fewerGPUs(r) {
		list = append(list, job.Sooner{Change: job.Change{GPUMilli: &milli}})
	}
	if n := r.CPUs / 2; n > 0 {
		list = append(list, job.Sooner{Change: job.Change{CPUs: &n}})
	}
	if r.GPUMilli > 0 && !r.Preemptible {
		yes := true
		list = append(list, job.Sooner{Change: job.Change{Preemptible: &yes}})
	}
	return list
}

// choices leave to the scheduler which GPUs it is.
func choices(r *job.Request) (list []job.Sooner) {
	ask := job.AnyOf{
		GPUs: len(r.GPUIDs)+len(r.GPUsFrom)+len(r.ExcludeGPUs) > 0, Type: r.GPUType != "",
		Load: r.MaxLoadPercent+r.MaxUsedPercent > 0,
	}
	for _, one := range []job.AnyOf{{GPUs: ask.GPUs}, {Type: ask.Type}, {Load: ask.Load}} {
		if one != (job.AnyOf{}) {
			list = append(list, job.Sooner{Any: one})
		}
	}
	if ask.GPUs && ask.Type {
		list = append(list, job.Sooner{Any: job.AnyOf{GPUs: true, Type: true}})
	}
	return list
}

// memoryChanges ask as much GPU memory as earlier runs of the command took, so that the GPU need
// not be free of others, and less memory.
func (c *Core) memoryChanges(l *trackedJob) (list []job.Sooner) {
	r := &l.job.Request
	ask := func(n int64) { list = append(list, job.Sooner{Change: job.Change{GPUMemBytes: &n}}) }
	known := wholeGiB(c.planning.memory(l.kind()) / 10 * 11)
	switch {
	case r.GPUMilli == 0:
	case known > 0 && (r.GPUMemBytes == 0 && r.Alone() || known < r.GPUMemBytes):
		ask(known)
	case r.GPUMemBytes > 0:
		ask(wholeGiB(r.GPUMemBytes / 2))
	}
	if n := r.MemBytes / 2; n > 0 {
		n = wholeGiB(n)
		list = append(list, job.Sooner{Change: job.Change{MemBytes: &n}})
	}
	return list
}

// wholeGiB rounds up, where there is that much.
func wholeGiB(n int64) int64 {
	const unit = 1 << 30
	if n < unit {
		return n
	}
	return (n + unit - 1) / unit * unit
}

// timeChanges ask a shorter time limit: as long as the job is expected to run and as much again,
// and half of what is asked.
func (c *Core) timeChanges(l *trackedJob) (list []job.Sooner) {
	limit := l.job.Request.TimeLimit.Duration()
	seen := limit
	for _, d := range []time.Duration{2 * c.expectedRun(l), limit / 2} {
		if d = roundUp(d); d <= 0 || limit > 0 && d >= limit || d == seen || d < l.job.Served {
			continue
		}
		seen = d
		span := job.Span(d)
		list = append(list, job.Sooner{Change: job.Change{TimeLimit: &span}})
	}
	return list
}

// roundUp is a time as people would write it.
func roundUp(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{24 * time.Hour, time.Hour, 10 * time.Minute} {
		if d >= 3*unit {
			return (d + unit - 1) / unit * unit
		}
	}
	return (d + time.Minute - 1) / time.Minute * time.Minute
}

// fewerGPUs are half of the GPUs, a quarter and so on down to one, and half of one.
func fewerGPUs(r *job.Request) (list []int) {
	if r.Part() > 0 && r.Whole() > 0 {
		list = append(list, r.Whole()*job.WholeGPU)
	}
	for n := r.Whole() / 2; n > 0 && len(r.GPUIDs) == 0; n /= 2 {
		list = append(list, n*job.WholeGPU)
	}
	if r.GPUMilli == job.WholeGPU {
		list = append(list, job.WholeGPU/2)
	}
	return list
}
